#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "golden/formats/file.hpp"
#include "golden/formats/json_file.hpp"
#include "golden/formats/strict_json.hpp"
#include "tools/gate/pinning.hpp"

namespace assay::tools {
namespace {

using nlohmann::json;
using properties::check_result;
using properties::status;
constexpr std::uint64_t largest_list = std::uint64_t{4} << 20;

// The words for a failed check: a coarse word such as "bad output", and the precise word of report.json.
struct failure_words {
  std::string coarse, precise;
  [[nodiscard]] bool covers(const std::string& listed) const { return listed == coarse || listed == precise; }
  [[nodiscard]] std::string text() const { return coarse == precise ? coarse : coarse + " (" + precise + ")"; }
};

failure_words wrong_outputs() { return {"failed", wrong_result}; }
failure_words words_of(properties::fault f) { return {properties::name_of(f), properties::kind_of(f)}; }

// The words for every fault by which a check can fail, and for wrong outputs; an unsupported call fails no check.
std::vector<failure_words> all_failure_words() {
  std::vector<failure_words> all{wrong_outputs()};
  constexpr int last = static_cast<int>(properties::fault::wrong_id);
  for (int f = 0; f <= last; ++f)
    if (const auto fault = static_cast<properties::fault>(f); fault != properties::fault::unsupported)
      all.push_back(words_of(fault));
  return all;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// "value heinsen/scan f32 crash # reason"
known_failure parse_line(const std::string& line) {
  known_failure k;
  const std::size_t hash = line.find('#');
  std::istringstream words(line.substr(0, hash));
  words >> k.property >> k.operation >> k.dtype;
  std::string verdict;
  std::getline(words, verdict);
  if (!trimmed(verdict).empty()) k.verdict = trimmed(verdict);
  if (hash != std::string::npos) k.reason = trimmed(line.substr(hash + 1));
  return k;
}

core::result<void> check_verdict(const std::string& listed) {
  std::string coarse, precise;
  std::set<std::string> said;
  const auto say = [&](std::string& words, const std::string& word) {
    if (said.insert(word).second) words += (words.empty() ? "" : ", ") + word;
  };
  for (const failure_words& f : all_failure_words()) {
    if (f.covers(listed)) return {};
    say(coarse, f.coarse);
    say(precise, f.precise);
  }
  return core::failure(
      fmt::format("unknown verdict '{}' (there are: {}; or more precisely: {})", listed, coarse, precise));
}

core::result<void> check_entry(const known_failure& k) {
  const properties::property* p = properties::find_property(k.property);
  const core::operation* op = reference::find_operation(k.operation);
  const auto type = core::dtype_named(k.dtype);
  if (p == nullptr) return core::failure("unknown property '" + k.property + "'");
  if (op == nullptr) return core::failure("unknown operation '" + k.operation + "'");
  if (!p->applies(*op)) return core::failure("property '" + k.property + "' says nothing about " + k.operation);
  if (!type || !core::is_floating(*type)) return core::failure("unknown dtype '" + k.dtype + "'");
  if (auto ok = check_verdict(k.verdict); !ok) return ok;
  if (k.reason.empty()) return core::failure("every known failure needs a reason");
  return {};
}

core::result<std::vector<known_failure>> parse_json(const json& list) {
  if (!list.is_array()) return core::failure("'known_failures' must be an array of objects");
  std::vector<known_failure> all;
  for (const json& entry : list) {
    if (auto ok = formats::require_members(entry, {"property", "operation", "dtype", "reason"}, {"verdict"}); !ok)
      return tl::make_unexpected(ok.error());
    known_failure k;
    for (const auto& [key, member] :
         {std::pair{"property", &k.property}, std::pair{"operation", &k.operation}, std::pair{"dtype", &k.dtype},
          std::pair{"reason", &k.reason}, std::pair{"verdict", &k.verdict}}) {
      if (!entry.contains(key)) continue;
      auto text = formats::text_member(entry, key);
      if (!text) return tl::make_unexpected(text.error());
      *member = *text;
    }
    if (auto ok = check_entry(k); !ok) return tl::make_unexpected(ok.error());
    all.push_back(std::move(k));
  }
  return all;
}

core::result<std::vector<known_failure>> parse_lines(std::istream& file) {
  std::vector<known_failure> all;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (trimmed(line).empty() || trimmed(line).front() == '#') continue;
    known_failure k = parse_line(line);
    if (auto ok = check_entry(k); !ok) return core::failure(fmt::format("line {}: {}", number, ok.error().message));
    all.push_back(std::move(k));
  }
  return all;
}

// The result of a check, in the words of a list.
failure_words words_of(const check_result& c) {
  if (c.verdict() != status::failed) return {properties::name_of(c.verdict()), properties::name_of(c.verdict())};
  return c.found && c.found->shown.failure ? words_of(c.found->shown.failure->kind) : wrong_outputs();
}

}  // namespace

core::result<std::vector<known_failure>> read_known_failures(const std::filesystem::path& path) {
  const auto text = formats::read_any_file(path, largest_list);
  if (!text) return tl::make_unexpected(text.error());
  core::result<std::vector<known_failure>> all;
  if (text->starts_with('{')) {
    const auto document = formats::parse_strict_json(*text);
    if (!document)
      return core::failure(
          fmt::format("{}: byte {}: {}", path.string(), document.error().offset, document.error().rule));
    all = parse_json(document->value.value("known_failures", json()));
  } else {
    std::istringstream lines(*text);
    all = parse_lines(lines);
  }
  if (!all) return core::failure(path.string() + ": " + all.error().message);
  return all;
}

void compare_with_known_failures(const std::vector<known_failure>& known, const gate_options& options,
                                 gate_report& report) {
  for (const known_failure& k : known) {
    const auto& wanted = options.properties;
    if (!concerns(options, k.operation, k.dtype) ||
        (!wanted.empty() && std::find(wanted.begin(), wanted.end(), k.property) == wanted.end()))
      continue;
    const auto it = std::find_if(report.checks.begin(), report.checks.end(), [&](const check_result& c) {
      return c.checked->name == k.property && c.operation->name == k.operation && core::name_of(c.type) == k.dtype;
    });
    if (it != report.checks.end() && words_of(*it).covers(k.verdict))
      report.excused.push_back({k.property, k.operation, k.dtype, k.reason});
    else
      report.complaints.push_back(
          fmt::format("the list of known failures is out of date: '{}' of {} in {} is listed as {}, but {}", k.property,
                      k.operation, k.dtype, k.verdict,
                      it == report.checks.end() ? "was not run" : "it is " + words_of(*it).text()));
  }
}

}  // namespace assay::tools
