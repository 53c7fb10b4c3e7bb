#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "golden/formats/json_file.hpp"
#include "tools/gate/pinning.hpp"

namespace assay::tools {
namespace {

using nlohmann::json;
using properties::check_result;
using properties::status;
constexpr std::uint64_t largest_report = std::uint64_t{256} << 20;

json member_of(const json& j, const char* key) { return j.is_object() ? j.value(key, json()) : json(); }

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

bool is_requested(const std::vector<std::string>& named, const std::string& name) {
  return named.empty() || std::find(named.begin(), named.end(), name) != named.end();
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
        !is_requested(o.properties, e["property"]))
      continue;
    const check_result* now = find_check(report, e);
    if (now != nullptr && now->verdict() == status::passed) continue;
    report.complaints.push_back(fmt::format(
        "worse than the baseline: '{}' of {} passed and {}", e["property"].get<std::string>(), name_of_entry(e),
        now == nullptr ? std::string("was not run") : fmt::format("now is {}", properties::name_of(now->verdict()))));
  }
}

// The list for which the candidate of a baseline was written; reports older than the lists do not state it.
core::list_version list_of(const json& baseline) {
  const json named = member_of(baseline["candidate"], "written_for");
  return named.is_string() ? core::list_version_from(named.get<std::string>()).value_or(core::newest_list)
                           : core::first_list;
}

bool is_among(const std::set<std::string>& names, const json& name) { return names.contains(name.get<std::string>()); }

// The operations for which the lists of the two candidates ask different questions: their errors are not comparable.
std::set<std::string> operations_asked_otherwise(const json& baseline, gate_report& report) {
  const core::list_version before = list_of(baseline), now = report.candidate.written_for;
  std::set<std::string> all;
  for (const check_result& c : report.checks)
    if (properties::has_additions_between(*c.operation, before, now)) all.insert(c.operation->name);
  if (!all.empty())
    report.warnings.push_back(
        fmt::format("the candidate was written for {} and the baseline's for {}: their cases of {} differ, and "
                    "classes, digits and errors are not compared",
                    to_string(now), to_string(before), fmt::join(all, ", ")));
  return all;
}

void compare_classes(const json& baseline, const gate_options& o, const std::set<std::string>& otherwise,
                     gate_report& report) {
  for (const json& e : baseline["accuracy_class"]) {
    if (e["class"].is_null() || !concerns(o, e["operation"], e["dtype"]) || is_among(otherwise, e["operation"]))
      continue;
    const auto before = reference::accuracy_class_named(e["class"].get<std::string>());
    const check_result* now = find_check(report, e);
    // compare_checks complains about a check that failed or was not run.
    if (!before || now == nullptr || now->verdict() != status::passed) continue;
    const auto reached = now->accuracy_class();
    if (reached && *reached <= *before) continue;
    report.complaints.push_back(fmt::format("worse than the baseline: {} was of class {} and is of {}",
                                            name_of_entry(e), name_of(*before),
                                            reached ? fmt::format("class {}", name_of(*reached)) : "no class"));
  }
}

// The growth that an error may have: up to `factor` times its old value. On the same cases (equal seed, effort and
// everything else that determines them) the factor is 2: a sum in another order stays within it, and more growth is a
// lost bit. On other cases the factor is 10: more growth is a lost digit. Growth by less than half an ulp, or by a
// tenth of the allowance, is the last rounding.
struct growth_margin {
  double factor;
  const char* words;
  [[nodiscard]] bool is_exceeded(double before, double now, double last_rounding) const {
    return now > std::max(factor * before, before + last_rounding);
  }
};
constexpr growth_margin margin_of_equal_cases{2, "more than twice, on the same cases"},
    margin_of_other_cases{10, "more than ten times"};
constexpr double half_an_ulp = 0.5, tenth_of_allowance = 0.1;

std::optional<double> number_of(const json& j, const char* key) {
  if (!j.is_object() || !j.contains(key)) return std::nullopt;
  if (j[key] == "inf") return std::numeric_limits<double>::infinity();
  return j[key].is_number() ? std::optional(j[key].get<double>()) : std::nullopt;
}

bool has_equal_cases(const json& baseline, const json& e, const gate_report& r, const check_result& now) {
  return member_of(member_of(baseline, "run"), "version") == r.run.version &&
         member_of(baseline, "seed") == std::to_string(r.seed) && member_of(baseline, "effort") == r.effort &&
         member_of(member_of(e, "counts"), "planned") == now.planned && member_of(e, "families") == json(now.families);
}

// Compares the shares of their allowances that errors take. On the same cases each family is compared with itself; on
// other cases only the largest shares over all families are comparable.
void compare_shares(const json& e, const check_result& now, bool equal_cases, gate_report& report) {
  const growth_margin& margin = equal_cases ? margin_of_equal_cases : margin_of_other_cases;
  double before = -1, after = 0;
  std::string where;
  for (const auto& [family, ratio] : now.error_to_allowance) {
    const auto was = number_of(member_of(e, "error_to_allowance"), family.c_str());
    if (!was) continue;
    if (!equal_cases) {
      before = std::max(before, *was);
      after = std::max(after, ratio);
    } else if (margin.is_exceeded(*was, ratio, tenth_of_allowance) && ratio > after) {
      before = *was;
      after = ratio;
      where = ", family " + family + ",";
    }
  }
  if (before >= 0 && margin.is_exceeded(before, after, tenth_of_allowance))
    report.complaints.push_back(
        fmt::format("worse than the baseline: the error of {}{} took {:.3g} of its allowance and takes {:.3g}: {}",
                    name_of_entry(e), where, before, after, margin.words));
}

// With other cases the largest error in ulp tells nothing: one more ill-conditioned element changes it.
void compare_errors(const json& baseline, const json& e, const check_result& now, gate_report& report) {
  for (const json& part : baseline["accuracy_class"]) {
    if (part["operation"] != e["operation"] || part["dtype"] != e["dtype"]) continue;
    const auto before = number_of(part, "largest_error_ulp");
    const double after = largest_error_ulp(now);
    if (before && margin_of_equal_cases.is_exceeded(*before, after, half_an_ulp))
      report.complaints.push_back(
          fmt::format("worse than the baseline: the largest error of {} was {:.3g} ulp and is {:.3g} ulp: {}",
                      name_of_entry(e), *before, after, margin_of_equal_cases.words));
  }
}

// One digit less may be a tiny difference if the error is near a power of ten; two digits are not.
void compare_digits(const json& e, const check_result& now, gate_report& report) {
  const json recorded = member_of(member_of(e, "error_along"), "digits");
  if (!recorded.is_array() || !now.tells_digits()) return;
  double tried = 0;
  for (const auto& [from, there] : now.by_growth) tried = std::max(tried, there.digits_farthest);
  for (const json& before : recorded) {
    const auto digits = number_of(before, "digits"), up_to = number_of(before, "up_to");
    if (!digits || !up_to) continue;
    int kept = 0;
    for (const properties::digits_up_to& d : now.digits())
      if (d.farthest >= std::min(*up_to, tried)) kept = std::max(kept, d.digits);
    if (kept >= *digits - 1) continue;
    report.complaints.push_back(
        fmt::format("worse than the baseline: {} kept {:.0f} digits up to {:.10g} ({}), and keeps {} there",
                    name_of_entry(e), *digits, *up_to, now.operation->grows_with->quantity, kept));
    return;
  }
}

void compare_accuracy(const json& baseline, const gate_options& o, const std::set<std::string>& otherwise,
                      gate_report& report) {
  for (const json& e : baseline["checks"]) {
    if (e["verdict"] != "passed" || !concerns(o, e["operation"], e["dtype"]) || is_among(otherwise, e["operation"]))
      continue;
    const check_result* now = find_check(report, e);
    if (now == nullptr || now->verdict() != status::passed) continue;
    const bool equal_cases = has_equal_cases(baseline, e, report, *now);
    compare_shares(e, *now, equal_cases, report);
    if (equal_cases && now->checked->decides_class) compare_errors(baseline, e, *now, report);
    if (now->checked->decides_class) compare_digits(e, *now, report);
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

bool concerns(const gate_options& o, const std::string& operation, const std::string& dtype) {
  const std::string forward = operation.substr(0, operation.find(':'));
  const std::string encoding = operation.substr(0, operation.find('/'));
  return is_requested(o.dtypes, dtype) && is_requested(o.encodings, encoding) &&
         (is_requested(o.operations, operation) || is_requested(o.operations, forward));
}

core::result<json> read_report(const std::filesystem::path& path) {
  auto document = formats::read_json_file(path, largest_report);
  if (!document) return tl::make_unexpected(document.error());
  if (document->value.value("schema", json()) != "assay-report/1" || !is_whole(document->value))
    return core::failure(path.string() + ": must be a whole report of the schema assay-report/1");
  return std::move(document->value);
}

void compare_with_baseline(const json& baseline, const gate_options& options, gate_report& report) {
  const json before = member_of(member_of(baseline, "formula"), "sha256");
  const json now = report.formula ? json(report.formula->sha256) : json();
  if (before != now) {
    report.warnings.push_back(
        "the baseline was judged against another formula: another truth is not comparable, and nothing was compared");
    return;
  }
  compare_offers(baseline, options, report);
  compare_checks(baseline, options, report);
  const std::set<std::string> otherwise = operations_asked_otherwise(baseline, report);
  compare_classes(baseline, options, otherwise, report);
  compare_accuracy(baseline, options, otherwise, report);
}

}  // namespace assay::tools
