#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "golden/formats/attributes_json.hpp"
#include "tools/case_file.hpp"
#include "tools/report/report.hpp"
#include "tools/report/snippet.hpp"

namespace assay::tools {
namespace {

using nlohmann::ordered_json;
using properties::check_result;
using properties::status;

// JSON has no infinities and no NaN: they are written as strings.
ordered_json number(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
}

ordered_json candidate_json(const properties::description& d, const std::string& spec) {
  ordered_json operations = ordered_json::object(), domain = ordered_json::object(), compute = ordered_json::object();
  for (const auto& [name, types] : d.operations)
    for (const core::dtype t : types) operations[name].push_back(core::name_of(t));
  for (const auto& [op, inputs] : d.domain)
    for (const auto& [name, range] : inputs) domain[op][name] = {number(range.low), number(range.high)};
  for (const auto& [op, axes] : d.sizes)
    for (const auto& [symbol, sizes] : axes) {
      ordered_json& declared = domain[op][symbol] = {{"multiple_of", sizes.multiple_of}, {"at_least", sizes.low}};
      if (sizes.high < std::numeric_limits<std::size_t>::max()) declared["at_most"] = sizes.high;
    }
  for (const auto& [op, relations] : d.relations)
    for (const properties::axis_relation& r : relations) domain[op]["relations"].push_back(r.text());
  for (const auto& [op, settings] : d.settings)
    for (const auto& [name, values] : settings)
      if (!is_unnamed_convention(op, name, values))
        for (const core::attribute& value : values) domain[op][name].push_back(formats::to_json(value));
  for (const auto& [storage, declared] : d.compute) {
    ordered_json& arithmetic = compute[std::string(core::name_of(storage))];
    if (declared.all) arithmetic = core::name_of(*declared.all);
    for (const auto& [stage, format] : declared.stages) arithmetic[stage] = core::name_of(format);
  }
  return {{"specification", spec},    {"name", d.name},
          {"version", d.version},     {"written_for", to_string(d.written_for)},
          {"operations", operations}, {"compute", compute},
          {"domain", domain},         {"deterministic", d.deterministic}};
}

ordered_json counts(const check_result& c) {
  return {{"planned", c.planned},
          {"run", c.run()},
          {"uninformative", c.count(status::uninformative)},
          {"unsupported", c.count(status::unsupported)},
          {"outside_domain", c.count(status::outside_domain)}};
}

ordered_json number(std::size_t count) { return count; }

// Values for the classes whose laws were used; for one_algorithm if the operation has no classes.
template <typename Value>
ordered_json by_class(const check_result& c, const std::array<Value, reference::accuracy_classes.size()>& values) {
  ordered_json j = ordered_json::object();
  for (const auto k : classes_of(c)) j[std::string(name_of(k))] = number(values[static_cast<std::size_t>(k)]);
  if (j.empty()) j["law"] = number(values[static_cast<std::size_t>(reference::one_algorithm)]);
  return j;
}

ordered_json class_json(const check_result& c) {
  const auto reached = c.accuracy_class();
  ordered_json j{
      {"operation", c.operation->name},
      {"dtype", core::name_of(c.type)},
      {"class", reached ? ordered_json(name_of(*reached)) : ordered_json()},
      {"ratio_to_law", by_class(c, c.ratios)},
      {"cases_needing", reference::has_classes(*c.operation) ? by_class(c, c.needed_by) : ordered_json::object()},
      {"largest_error_ulp", number(largest_error_ulp(c))},
      {"ulp_of", scale_words(*c.operation)}};
  if (const auto share = c.share_of_law()) j["share_of_law"] = number(*share);
  j["largest_sizes"] = c.largest_sizes;
  // The case that rules out the next better class.
  if (reached && *reached != reference::accuracy_class::uniform)
    if (const auto& forced = c.forced_by[static_cast<std::size_t>(*reached) - 1]) j["forced_by"] = *forced;
  return j;
}

// The data that the page draws: errors by family, and along the quantity with which they grow.
void add_drawing(ordered_json& j, const check_result& c) {
  if (c.error_to_allowance.empty()) return;
  ordered_json families = ordered_json::object(), steps = ordered_json::array(), digits = ordered_json::array();
  for (const auto& [name, ratio] : c.error_to_allowance) families[name] = number(ratio);
  for (const auto& [from, e] : drawn_growth(c))
    steps.push_back({{"from", from},
                     {"farthest", number(e.farthest)},
                     {"cases", e.cases},
                     {"failed", e.failed},
                     {"largest_error_ulp", number(e.largest_ulp)},
                     {"law_ulp", by_class(c, e.law_ulp)},
                     {"ratio_to_law", by_class(c, e.ratios)}});
  for (const auto& [kept, farthest] : c.digits()) digits.push_back({{"digits", kept}, {"up_to", number(farthest)}});
  j["error_to_allowance"] = families;
  if (steps.empty()) return;
  j["error_along"] = {{"quantity", c.operation->grows_with->quantity}, {"steps", steps}, {"digits", digits}};
}

void add_stderr(ordered_json& j, std::string_view errors) {
  if (const auto lines = stderr_lines(errors); !lines.empty()) j["stderr"] = fmt::format("{}", fmt::join(lines, "\n"));
}

ordered_json fault_json(const adapter_fault& f) {
  ordered_json j = ordered_json::object();
  if (f.operation != nullptr) j = {{"operation", f.operation->name}, {"dtype", core::name_of(f.type)}};
  j.update({{"kind", f.kind}, {"message", f.message}, {"on", f.on}});
  add_stderr(j, f.errors);
  return j;
}

// The tensors of a counterexample; if they are too large for a report, only the shapes remain, in `left_out`.
void add_tensors(ordered_json& j, const char* name, const core::tensors& all) {
  const bool is_large = is_too_large_to_show(all);
  j[name] = is_large ? ordered_json::object() : to_json(all);
  if (!is_large) return;
  for (const auto& [tensor, t] : all) j["left_out"][name][tensor] = t.shape();
}

ordered_json check_json(const gate_report& r, const check_result& c) {
  ordered_json j{{"property", c.checked->name},
                 {"operation", c.operation->name},
                 {"dtype", core::name_of(c.type)},
                 {"verdict", verdict_word(c)},
                 {"cases", c.run()},
                 {"skipped", c.count(status::unsupported) + c.count(status::outside_domain)},
                 {"counts", counts(c)},
                 {"families", c.families},
                 {"families_outside_domain", c.families_skipped}};
  if (const std::string reason = reason_of(r, c); !reason.empty()) j["reason"] = reason;
  if (const check_result* cause = cause_of(r, c))
    j["by_fault_of"] = cause->checked->name;
  else if (const auto faults = faults_of(r, c); c.found && !faults.empty())
    j["faults"] = faults;
  for (const properties::refusal& refused : c.refused) {
    ordered_json& one = j["refused"].emplace_back(ordered_json{{"axis", refused.axis}, {"message", refused.message}});
    if (!refused.settings.empty()) one["settings"] = refused.settings;
  }
  for (const auto& [why, cases] : c.declined) j["declined"].push_back(ordered_json{{"reason", why}, {"cases", cases}});
  if (!c.worst.output.empty())
    j["worst"] = {{"ulp", number(c.worst.ulp)},
                  {"allowance_ratio", number(c.worst.ratio / properties::bug_slack)},
                  {"case", c.worst_case}};
  if (c.suspicious)
    j["suspicious"] = {{"output", c.suspicious->output},
                       {"times", number(c.suspicious->times)},
                       {"words", properties::in_words(*c.suspicious)},
                       {"case", c.suspicious_case}};
  add_drawing(j, c);
  if (c.found) {
    j["counterexample"] = {
        {"case", summary(c.found->minimal)}, {"kind", failure_kind(c)}, {"message", c.found->shown.message}};
    ordered_json& found = j["counterexample"];
    add_tensors(found, "inputs", c.found->minimal.call.inputs);
    add_tensors(found, "expected", c.found->shown.expected);
    add_tensors(found, "actual", c.found->shown.actual);
    found["file"] = "counterexamples/" + counterexample_name(c);
    found["snippet"] = python_snippet(r, c);
    found["replay"] = replay_command(r, c);
    if (c.found->shown.failure) add_stderr(j["counterexample"], c.found->shown.failure->errors);
  }
  return j;
}

// The digits come from the check, which includes the long sequence.
ordered_json horizon_json(const gate_report& r, const measured_horizon& h) {
  ordered_json marks = ordered_json::array(), errors = ordered_json::array();
  for (const check_result& c : r.checks)
    if (c.operation == h.operation && c.type == h.type && c.checked->decides_class)
      for (const auto& [digits, farthest] : c.digits())
        marks.push_back({{"digits", digits},
                         {"tokens", static_cast<std::uint64_t>(farthest)},
                         {"or_more", farthest == c.by_growth.rbegin()->second.digits_farthest}});
  for (const double e : h.found.error_at_power) errors.push_back(number(e));
  return {{"operation", h.operation->name},
          {"dtype", core::name_of(h.type)},
          {"tokens_measured", h.found.measured},
          {"marks", marks},
          {"largest_error_over_first_2^k_tokens", errors}};
}

}  // namespace

ordered_json to_json(const gate_report& r) {
  ordered_json classes = ordered_json::array(), horizons = ordered_json::array(), checks = ordered_json::array();
  ordered_json totals{{"planned", 0}, {"run", 0}, {"uninformative", 0}, {"unsupported", 0}, {"outside_domain", 0}};
  for (const check_result& c : r.checks) {
    if (c.checked->decides_class) classes.push_back(class_json(c));
    checks.push_back(check_json(r, c));
    const ordered_json check_counts = counts(c);
    for (auto& [key, value] : totals.items()) value = value.get<std::size_t>() + check_counts[key].get<std::size_t>();
  }
  ordered_json faults = ordered_json::array(), long_faults = ordered_json::array();
  for (const adapter_fault& f : r.adapter_faults) faults.push_back(fault_json(f));
  for (const adapter_fault& f : r.horizon_faults) long_faults.push_back(fault_json(f));
  ordered_json excused = ordered_json::array();
  for (const excused_check& e : r.excused)
    excused.push_back({{"property", e.property}, {"operation", e.operation}, {"dtype", e.dtype}, {"reason", e.reason}});
  for (const measured_horizon& h : r.horizons) horizons.push_back(horizon_json(r, h));
  const check_counts n = count_checks(r);
  return {{"schema", "assay-report/1"},
          {"run", {{"started", r.run.started}, {"seconds", r.run.seconds}, {"version", r.run.version}}},
          {"candidate", candidate_json(r.candidate, r.candidate_spec)},
          {"formula", r.formula ? ordered_json{{"spec", r.formula->spec},
                                               {"sha256", r.formula->sha256},
                                               {"captured", r.formula->captured}}
                                : ordered_json()},
          {"seed", std::to_string(r.seed)},
          {"effort", r.effort},
          {"verdict", name_of(r.verdict)},
          {"findings", r.findings},
          {"complaints", texts_of(r.complaints)},
          {"check_counts",
           {{"checks", n.checks},
            {"passed", n.passed},
            {"failed", n.failed},
            {"uninformative", n.uninformative},
            {"skipped", n.skipped},
            {"by_fault_of_another", n.consequences}}},
          {"warnings", r.warnings},
          {"start_fault", r.start_fault ? fault_json(*r.start_fault) : ordered_json()},
          {"adapter_faults", faults},
          {"horizon_faults", long_faults},
          {"known_failures", excused},
          {"only", {{"properties", r.only_properties}, {"families", r.only_families}}},
          {"accuracy_class", classes},
          {"horizon", horizons},
          {"cases", totals},
          {"checks", checks},
          {"footer", "complete"}};
}

}  // namespace assay::tools
