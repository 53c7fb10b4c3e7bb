// assay mutants: every wrong implementation under every property, and which property kills which mutant.
#include <fmt/format.h>

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "golden/formats/file.hpp"
#include "properties/builtin.hpp"
#include "properties/harness/generated_trials.hpp"
#include "reference/oracle.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/formula/formula_host.hpp"
#include "tools/shared_options.hpp"

namespace assay::tools {
namespace {

struct mutants_options {
  std::vector<std::string> names{};      ///< such as mutant/drops_nan; empty: all
  std::vector<std::string> encodings{};  ///< only the mutants of these encodings; empty: of all
  formula_options formula{};             ///< a user formula; each of its mutants has one wrong step
  std::uint64_t seed = 1;
  std::size_t cases = 6;
  bool generated = false;  ///< also the mutants that are made by rule
  std::filesystem::path out = "assay-mutants";
};

using properties::kill;
using properties::trial;

bool is_chosen(const properties::encoding_tests& tests, const mutants_options& options) {
  const auto& only = options.encodings;
  return only.empty() || std::find(only.begin(), only.end(), tests.name) != only.end();
}

std::vector<properties::variant> chosen(const mutants_options& options) {
  std::vector<properties::variant> all;
  const auto wanted = [&](const properties::variant& v) {
    return options.names.empty() || std::find(options.names.begin(), options.names.end(), v.id) != options.names.end();
  };
  for (const auto& tests : properties::all_encoding_tests())
    for (const auto& m : tests.mutants)
      if (is_chosen(tests, options) && wanted(m)) all.push_back(m);
  return all;
}

nlohmann::ordered_json to_json(const std::vector<trial>& trials, const mutants_options& options) {
  auto mutants = nlohmann::ordered_json::array();
  for (const trial& t : trials) {
    auto kills = nlohmann::ordered_json::array();
    for (const kill& k : t.kills)
      kills.push_back({{"property", k.by->name},
                       {"operation", k.operation->name},
                       {"cases", k.cases},
                       {"tokens", k.tokens},
                       {"lanes", k.lanes},
                       {"repeats_alone", k.repeats},
                       {"case", summary(k.found.minimal)}});
    mutants.push_back({{"mutant", t.mutant.id},
                       {"models", t.mutant.models},
                       {"fault", t.mutant.summary},
                       {"dtype", core::name_of(t.type)},
                       {"checks", t.checks},
                       {"killed", !t.kills.empty()},
                       {"kills", kills}});
  }
  auto idle = nlohmann::ordered_json::array();
  for (const properties::property* p : properties::idle_properties(trials))
    idle.push_back({{"property", p->name}, {"stays_because", p->stays_because}});
  auto unmodelled = nlohmann::ordered_json::array();
  for (const properties::encoding_tests& tests : properties::all_encoding_tests())
    for (const properties::unmodelled& u : tests.not_modelled)
      unmodelled.push_back({{"encoding", tests.name}, {"report", u.report}, {"reason", u.reason}});
  return {{"schema", "assay-kills/1"}, {"seed", std::to_string(options.seed)}, {"cases_per_family", options.cases},
          {"mutants", mutants},        {"properties_without_a_kill", idle},    {"not_modelled", unmodelled},
          {"footer", "complete"}};
}

// "value 1/3, causality 2/1": for each property the tokens of its smallest counterexample, and the cases up to the
// first failure.
std::string killers(const trial& t) {
  std::map<std::string, const kill*> best;
  for (const kill& k : t.kills) {
    const kill*& b = best[k.by->name];
    if (b == nullptr || std::tie(k.tokens, k.lanes, k.cases) < std::tie(b->tokens, b->lanes, b->cases)) b = &k;
  }
  std::string text;
  for (const properties::property& p : properties::properties())
    if (const auto k = best.find(p.name); k != best.end())
      text += fmt::format("{}{} {}/{}", text.empty() ? "" : ", ", p.name, k->second->tokens, k->second->cases);
  return text.empty() ? "**survived**" : text;
}

double median(const std::vector<std::size_t>& all) {
  std::vector<double> x(all.begin(), all.end());
  return x.empty() ? 0.0 : boost::math::statistics::median(x);
}

std::string to_markdown(const std::vector<trial>& trials, const mutants_options& options) {
  std::string text = fmt::format("# Mutants and what kills them\n\nSeed {}, {} cases per family and property. ",
                                 options.seed, options.cases);
  text += "After each property: tokens of its smallest counterexample / cases up to the first failure.\n\n";
  text += "| mutant | modelled on | fault | dtype | killed by |\n|---|---|---|---|---|\n";
  std::vector<std::size_t> tokens, lanes;
  std::map<std::string, std::size_t> kills_of;
  for (const trial& t : trials) {
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", t.mutant.id.substr(t.mutant.id.find('/') + 1),
                        t.mutant.models, t.mutant.summary, core::name_of(t.type), killers(t));
    if (const auto s = smallest(t)) tokens.push_back(s->tokens), lanes.push_back(s->lanes);
    std::map<std::string, bool> by;
    for (const kill& k : t.kills) by[k.by->name] = true;
    for (const auto& [name, yes] : by) ++kills_of[name];
  }
  text +=
      fmt::format("\nMedian of the smallest counterexamples: {} tokens, {} lanes.\n\n", median(tokens), median(lanes));
  text += "| property | mutants killed |\n|---|---|\n";
  for (const properties::property& p : properties::properties())
    text += fmt::format("| {} | {} |\n", p.name,
                        kills_of.contains(p.name) ? std::to_string(kills_of[p.name]) : "none: " + p.stays_because);
  text += "\n## Reports without a mutant\n\n| encoding | report | why |\n|---|---|---|\n";
  for (const properties::encoding_tests& tests : properties::all_encoding_tests())
    for (const properties::unmodelled& u : tests.not_modelled)
      text += fmt::format("| {} | {} | {} |\n", tests.name, u.report, u.reason);
  return text;
}

using generated = std::vector<properties::generated_trials>;
constexpr properties::survival all_survivals[] = {properties::survival::identical, properties::survival::below_the_map,
                                                  properties::survival::unexplained};

generated try_generated(const mutants_options& options) {
  properties::trial_options trying;
  trying.seed = options.seed;
  trying.cases = options.cases;
  generated all;
  for (const properties::encoding_tests& tests : properties::all_encoding_tests()) {
    if (!is_chosen(tests, options)) continue;
    all.push_back(try_generated_mutants(tests, trying));
    fmt::print(stderr, "{:12} {} of {} mutants made by rule are caught\n", tests.name, all.back().caught,
               all.back().mutants);
  }
  return all;
}

bool has_holes(const generated& all) {
  return std::any_of(all.begin(), all.end(), [](const properties::generated_trials& t) {
    return t.mutants == 0 || t.count(properties::survival::unexplained) > 0;
  });
}

std::string to_markdown(const generated& all) {
  std::string text =
      "\n## Mutants made by rule\n\n| encoding | made | caught | by a worse class alone | identical | below the "
      "detectability map | unexplained | first by |\n|---|---|---|---|---|---|---|---|\n";
  for (const properties::generated_trials& t : all) {
    text += fmt::format("| {} | {} | {} | {} |", t.encoding, t.mutants, t.caught, t.by_class);
    for (const properties::survival why : all_survivals) text += fmt::format(" {} |", t.count(why));
    std::string first;
    for (const auto& [name, count] : t.first_by)
      first += fmt::format("{}{} {}", first.empty() ? "" : ", ", name, count);
    text += fmt::format(" {} |\n", first);
  }
  text += "\n";
  for (const properties::generated_trials& t : all)
    for (const properties::survivor& s : t.survivors)
      text += fmt::format("- `{}`: {}: {}\n", s.mutant, name_of(s.why), s.detail);
  return text;
}

nlohmann::ordered_json to_json(const generated& all) {
  auto encodings = nlohmann::ordered_json::array();
  for (const properties::generated_trials& t : all) {
    auto survivors = nlohmann::ordered_json::array();
    for (const properties::survivor& s : t.survivors)
      survivors.push_back({{"mutant", s.mutant}, {"why", name_of(s.why)}, {"detail", s.detail}});
    encodings.push_back({{"encoding", t.encoding},
                         {"mutants", t.mutants},
                         {"caught", t.caught},
                         {"by_class", t.by_class},
                         {"first_by", t.first_by},
                         {"survivors", survivors}});
  }
  return encodings;
}

// Returns check_failed if a mutant survived or was not run, or if none was chosen.
int mutants(const mutants_options& options) {
  const auto& known_encodings = reference::encoding_names();
  for (const std::string& name : options.encodings)
    if (std::find(known_encodings.begin(), known_encodings.end(), name) == known_encodings.end()) {
      complain("no encoding '" + name + "' (see: assay list encodings)");
      return wrong_input;
    }
  for (const std::string& name : options.names)
    if (const auto known = chosen({{name}}); known.empty()) {
      complain("no mutant '" + name + "' (see: assay list mutants)");
      return wrong_input;
    }
  std::error_code failed;
  std::filesystem::create_directories(options.out, failed);
  if (failed) {
    complain("cannot create " + options.out.string() + ": " + failed.message());
    return wrong_input;
  }
  const std::vector<trial> trials =
      try_mutants(chosen(options), {options.seed, options.cases},
                  [](const core::operation& op) { fmt::print(stderr, "{} is done\n", op.name); });
  for (const trial& t : trials)
    fmt::print(stderr, "{:44} {:5} {:3} kills in {} checks\n", t.mutant.id, core::name_of(t.type), t.kills.size(),
               t.checks);
  std::string table = to_markdown(trials, options);
  nlohmann::ordered_json j = to_json(trials, options);
  bool holes = false;
  if (options.generated) {
    const generated made = try_generated(options);
    holes = has_holes(made);
    table += to_markdown(made);
    j.erase("footer");
    j["generated"] = to_json(made);
    j["footer"] = "complete";
  }
  const std::string kills = j.dump(1) + "\n";
  for (const auto& [name, text] : {std::pair<const char*, const std::string*>{"kills.md", &table},
                                   std::pair<const char*, const std::string*>{"kills.json", &kills}})
    if (const auto written = formats::replace_file(options.out / name, *text); !written) {
      complain(written.error().message);
      return own_fault;
    }
  fmt::print("{}\nTable: {}\n", table, (options.out / "kills.md").string());
  const bool all_killed =
      std::all_of(trials.begin(), trials.end(), [](const trial& t) { return t.checks > 0 && !t.kills.empty(); });
  return all_killed && !holes && !trials.empty() ? all_passed : check_failed;
}

}  // namespace

command_work mutants_command(CLI::App& app) {
  auto options = std::make_shared<mutants_options>();
  app.add_option("mutant", options->names, "only these mutants; see: assay list mutants");
  add_list(app, "--encoding", options->encodings, "only the mutants of this encoding");
  add_formula(app, options->formula);
  add_seed(app, options->seed);
  add_cases(app, options->cases, "cases per family and property");
  app.add_option("--out", options->out, "folder of kills.md and kills.json")->capture_default_str();
  app.add_flag("--generated", options->generated, "also the mutants that are made by rule (several minutes)");
  return [options](const program_options&) {
    if (!options->formula.spec.empty()) options->encodings = {"formula"};
    return with_formula(options->formula, [&] { return mutants(*options); });
  };
}

}  // namespace assay::tools
