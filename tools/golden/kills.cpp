#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/commands.hpp"
#include "tools/formula/formula_host.hpp"
#include "tools/golden/commands.hpp"
#include "tools/golden/reveal.hpp"

namespace assay::tools {
namespace {

namespace fs = std::filesystem;

core::result<std::vector<golden::golden_file>> read_all(const fs::path& folder) {
  const auto paths = golden_files_at(folder);
  if (!paths) return tl::make_unexpected(paths.error());
  std::vector<golden::golden_file> files;
  for (const fs::path& path : *paths) {
    auto file = golden::read_golden_file(path);
    if (!file) return tl::make_unexpected(file.error());
    files.push_back(std::move(*file));
  }
  return files;
}

std::vector<properties::variant> wanted_mutants(const std::vector<std::string>& names) {
  std::vector<properties::variant> wanted;
  for (const properties::encoding_tests& tests : properties::all_encoding_tests())
    for (const properties::variant& m : tests.mutants)
      // A file is one call: it cannot show what is wrong in a later one.
      if (names.empty() ? !m.remembers : std::find(names.begin(), names.end(), m.id) != names.end())
        wanted.push_back(m);
  return wanted;
}

struct kills_options {
  fs::path folder;
  std::vector<std::string> mutants{};  ///< empty: all
};

// check_failed where no file reveals a mutant that is named, or where a wrong answer that knows nothing passes a file.
int kills(const kills_options& options) {
  const auto files = read_all(options.folder);
  if (!files) {
    complain(files.error().message);
    return wrong_input;
  }
  const std::vector<properties::variant> mutants = wanted_mutants(options.mutants);
  for (const std::string& name : options.mutants)
    if (std::none_of(mutants.begin(), mutants.end(), [&](const auto& m) { return m.id == name; })) {
      complain("unknown mutant '" + name + "'; see: assay list mutants");
      return wrong_input;
    }
  std::size_t survivors = 0, tried_mutants = 0, vacuous = 0;
  for (const properties::variant& m : mutants) {
    const auto code = m.make();
    std::vector<std::string> killers;
    std::size_t tried = 0;
    for (const golden::golden_file& file : *files) {
      const auto revealed = is_revealed(*code, file);
      tried += revealed.has_value();
      if (revealed.value_or(false)) killers.push_back(file.about.set + "/" + file.about.name());
    }
    if (tried == 0) continue;
    ++tried_mutants;
    survivors += killers.empty();
    fmt::print("{:36} {:>4} of {:>4}  {}\n", m.id, killers.size(), tried,
               killers.empty() ? "no file" : fmt::format("{}", fmt::join(killers, " ")));
  }
  if (options.mutants.empty())
    for (const golden::golden_file& file : *files) {
      const core::dtype tightest = golden::arithmetics_of(file.about.type).back();
      for (const passing_answer& p : passed_by(file, tightest))
        fmt::print("{}/{} is passed by {}{}\n", file.about.set, file.about.name(), p.what,
                   p.is_right ? ", which is the truth here" : "");
      vacuous += is_vacuous(file, tightest);
    }
  fmt::print("{} of {} mutants revealed; in {} files a trivial wrong answer passes\n", tried_mutants - survivors,
             tried_mutants, vacuous);
  const bool all_named_are_revealed = options.mutants.empty() || survivors == 0;
  return all_named_are_revealed && vacuous == 0 ? all_passed : check_failed;
}

}  // namespace

command_work golden_kills_command(CLI::App& app) {
  auto options = std::make_shared<kills_options>();
  app.add_option("folder", options->folder, "a set or a folder of sets")->required();
  app.add_option("--mutant", options->mutants, "only this one; may be repeated");
  return [options](const program_options&) { return with_formula({}, [&] { return kills(*options); }); };
}

}  // namespace assay::tools
