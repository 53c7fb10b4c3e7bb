#include <fmt/format.h>

#include <algorithm>

#include "golden/formats/json_file.hpp"
#include "tools/gate/pinning.hpp"

namespace assay::tools {
namespace {

using nlohmann::json;
using properties::check_result;
using properties::status;
constexpr std::uint64_t largest_report = std::uint64_t{256} << 20;

bool is_whole(const json& j) {
  const auto is_list_of = [&](const char* key, std::initializer_list<const char*> members) {
    return j.contains(key) && j[key].is_array() && std::all_of(j[key].begin(), j[key].end(), [&](const json& entry) {
             return entry.is_object() && std::all_of(members.begin(), members.end(), [&](const char* m) {
                      return entry.contains(m) &&
                             (entry[m].is_string() || (entry[m].is_null() && std::string_view(m) == "class"));
                    });
           });
  };
  return j.value("footer", json()) == "complete" && j.contains("candidate") && j["candidate"].is_object() &&
         j["candidate"].contains("operations") && j["candidate"]["operations"].is_object() &&
         is_list_of("checks", {"property", "operation", "dtype", "verdict"}) &&
         is_list_of("accuracy_class", {"operation", "dtype", "class"});
}

bool was_asked_for(const std::vector<std::string>& named, const std::string& name) {
  return named.empty() || std::find(named.begin(), named.end(), name) != named.end();
}

bool concerns(const gate_options& o, const std::string& operation, const std::string& dtype) {
  const std::string forward = operation.substr(0, operation.find(':'));
  const std::string encoding = operation.substr(0, operation.find('/'));
  return was_asked_for(o.dtypes, dtype) && was_asked_for(o.encodings, encoding) &&
         (was_asked_for(o.operations, operation) || was_asked_for(o.operations, forward));
}

const check_result* find_check(const gate_report& r, const json& entry) {
  for (const check_result& c : r.checks)
    if (entry["operation"] == c.operation->name && entry["dtype"] == std::string(core::name_of(c.type)) &&
        (!entry.contains("property") || entry["property"] == c.checked->name) &&
        (entry.contains("property") || c.checked->decides_class))
      return &c;
  return nullptr;
}

std::string name_of_entry(const json& e) {
  return fmt::format("{} in {}", e["operation"].get<std::string>(), e["dtype"].get<std::string>());
}

void compare_checks(const json& baseline, const gate_options& o, gate_report& report) {
  for (const json& e : baseline["checks"]) {
    if (e["verdict"] != "passed" || !concerns(o, e["operation"], e["dtype"]) ||
        !was_asked_for(o.properties, e["property"]))
      continue;
    const check_result* now = find_check(report, e);
    if (now != nullptr && now->verdict() == status::passed) continue;
    report.complaints.push_back(fmt::format(
        "worse than the baseline: '{}' of {} passed and {}", e["property"].get<std::string>(), name_of_entry(e),
        now == nullptr ? std::string("was not run") : fmt::format("now is {}", properties::name_of(now->verdict()))));
  }
}

void compare_classes(const json& baseline, const gate_options& o, gate_report& report) {
  for (const json& e : baseline["accuracy_class"]) {
    if (e["class"].is_null() || !concerns(o, e["operation"], e["dtype"])) continue;
    const auto before = reference::accuracy_class_named(e["class"].get<std::string>());
    const check_result* now = find_check(report, e);
    const auto reached = now == nullptr ? std::nullopt : now->accuracy_class();
    // What fails, or was not run, is said of the check.
    if (!before || !reached || *reached <= *before) continue;
    report.complaints.push_back(fmt::format("worse than the baseline: {} was of class {} and is of class {}",
                                            name_of_entry(e), name_of(*before), name_of(*reached)));
  }
}

void compare_offers(const json& baseline, const gate_options& o, gate_report& report) {
  for (const auto& [operation, types] : baseline["candidate"]["operations"].items())
    for (const json& type : types) {
      if (!type.is_string() || !concerns(o, operation, type)) continue;
      const auto dtype = core::dtype_named(type.get<std::string>());
      if (dtype && !report.candidate.offers(operation, *dtype))
        report.complaints.push_back(fmt::format("worse than the baseline: {} in {} is not offered any more", operation,
                                                type.get<std::string>()));
    }
}

}  // namespace

core::result<json> read_report(const std::filesystem::path& path) {
  auto document = formats::read_json_file(path, largest_report);
  if (!document) return tl::make_unexpected(document.error());
  if (document->value.value("schema", json()) != "assay-report/1" || !is_whole(document->value))
    return core::failure(path.string() + ": must be a whole report of the schema assay-report/1");
  return std::move(document->value);
}

void compare_with_baseline(const json& baseline, const gate_options& options, gate_report& report) {
  compare_offers(baseline, options, report);
  compare_checks(baseline, options, report);
  compare_classes(baseline, options, report);
}

}  // namespace assay::tools
