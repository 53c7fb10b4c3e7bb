#include "tools/gate/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "tools/gate/smoke.hpp"

namespace assay::tools {
namespace {

using properties::check_result;
using properties::status;

bool is_broken(const adapter_fault& f) { return f.kind != nan_flood && !f.others_answered; }

// Whether the check met a fault of the process, or stands for a part in which no call was answered.
bool is_process_fault(const gate_report& report, const check_result& c) {
  const bool is_of_lost_part = std::any_of(
      report.adapter_faults.begin(), report.adapter_faults.end(),
      [&](const adapter_fault& f) { return f.operation == c.operation && f.type == c.type && is_broken(f); });
  return is_of_lost_part || (c.found && c.found->shown.failure && ends_the_program(c.found->shown.failure->kind));
}

bool is_excused(const gate_report& report, const check_result& c) {
  return std::any_of(report.excused.begin(), report.excused.end(), [&](const excused_check& e) {
    return e.property == c.checked->name && e.operation == c.operation->name && e.dtype == core::name_of(c.type);
  });
}

std::string why_no_check(const selection& s, const properties::description& candidate) {
  std::set<std::string> offered, applicable;
  for (const core::operation* op : s.operations)
    for (const core::dtype type : s.dtypes)
      if (candidate.offers(op->name, type)) {
        offered.insert(op->name);
        for (const properties::property& p : properties::properties())
          if (p.applies(*op)) applicable.insert(p.name);
      }
  if (offered.empty()) return "the candidate offers none of the selected operations";
  return fmt::format("{} {} none of the selected properties; there are {}", fmt::join(offered, ", "),
                     offered.size() == 1 ? "has" : "have", fmt::join(applicable, ", "));
}

// The way in which a Python function declares dtypes; other candidates list theirs.
std::string hint_to_offer(const gate_options& options) {
  return options.candidate.starts_with("python:") ? ": declare it as ASSAY_DTYPES = [...] in the module, or as dtypes"
                                                  : ": name it among the operation's dtypes";
}

// If an operation is offered only in dtypes that are not selected, the message names them.
std::string not_offered(const std::string& name, const properties::description& candidate, const selection& s) {
  const auto it = candidate.operations.find(name);
  const bool in_others =
      it != candidate.operations.end() && !it->second.empty() &&
      std::none_of(s.dtypes.begin(), s.dtypes.end(), [&](core::dtype type) { return candidate.offers(name, type); });
  if (!in_others) return name + " was requested and is not offered";
  const auto names_of = [](const auto& types) {
    std::vector<std::string> names;
    for (const core::dtype type : types) names.emplace_back(core::name_of(type));
    return fmt::format("{}", fmt::join(names, ", "));
  };
  return fmt::format("{} was requested in {} and is offered in {}", name, names_of(s.dtypes), names_of(it->second));
}

std::string calls_in_words(const adapter_fault& f) {
  return f.calls == 1 ? "its first call" : fmt::format("any of {} calls", f.calls);
}

// Why no case of the core checks decided anything, and what would help.
std::string why_undecided(const part_record& part, const properties::description& candidate) {
  std::size_t uninformative = 0, unsupported = 0, outside = 0;
  for (const check_result& c : part.checks)
    if (c.checked->decides_class) {
      uninformative += c.count(status::uninformative);
      unsupported += c.count(status::unsupported);
      outside += c.count(status::outside_domain);
    }
  const std::string& name = part.operation->name;
  const bool narrowed = candidate.domain.contains(name) || candidate.sizes.contains(name) ||
                        candidate.relations.contains(name) || !candidate.settings_of(*part.operation).empty();
  std::vector<std::string> all;
  if (uninformative > 0)
    all.push_back(fmt::format("in {} cases a trivial answer, such as zeros, would pass, so that they prove nothing{}",
                              uninformative,
                              narrowed ? ": declare a wider domain, or do not offer the operation" : ""));
  if (unsupported > 0)
    all.push_back(
        fmt::format("the candidate declined {} cases as unsupported: declare its domain, and cases are drawn from "
                    "there alone",
                    unsupported));
  if (outside > 0) all.push_back(fmt::format("{} cases lie outside the declared domain: declare a wider one", outside));
  if (all.empty()) all.emplace_back("no case was run");
  return fmt::format("{}", fmt::join(all, "; "));
}

// The words for a fault of an operation in some dtypes.
std::string words_of(const std::vector<const adapter_fault*>& in_each_dtype) {
  const adapter_fault& f = *in_each_dtype.front();
  std::vector<std::string_view> dtypes;
  for (const adapter_fault* one : in_each_dtype) dtypes.push_back(core::name_of(one->type));
  const std::string part = fmt::format("{} in {}", f.operation->name, fmt::join(dtypes, ", "));
  if (f.others_answered)
    return fmt::format("{} failed in its first call, but in no check: {}: {} ({})", part, f.name, f.message, f.on);
  if (f.kind == nan_flood)
    return fmt::format("{}: {} gives NaN for every element of every output in {}, such as {}; its checks were not run",
                       f.name, part, calls_in_words(f), f.on);
  return fmt::format("{} gives no outputs in {}, such as {}: {}: {}; its checks were not run", part, calls_in_words(f),
                     f.on, f.name, f.message);
}

}  // namespace

void complain_about_adapter(gate_report& report) {
  const auto alike = [](const adapter_fault& a, const adapter_fault& b) {
    return a.operation == b.operation && a.kind == b.kind && a.message == b.message && a.calls == b.calls &&
           a.others_answered == b.others_answered;
  };
  std::vector<std::vector<const adapter_fault*>> groups;
  for (const adapter_fault& f : report.adapter_faults) {
    auto it = std::find_if(groups.begin(), groups.end(), [&](const auto& all) { return alike(*all.front(), f); });
    if (it == groups.end()) it = groups.insert(it, std::vector<const adapter_fault*>{});
    it->push_back(&f);
  }
  for (const auto& all : groups) report.complaints.emplace_back(words_of(all), *all.front());
}

void warn_about_hello(gate_report& report) {
  for (const auto& [name, types] : report.candidate.operations) {
    if (reference::find_operation(name) == nullptr) {
      report.warnings.push_back("the candidate offers '" + name + "', an operation that Assay does not know");
      continue;
    }
    for (const core::dtype type : types)
      if (!core::is_floating(type))
        report.warnings.push_back(
            fmt::format("the candidate offers {} in {}, which is no floating-point dtype", name, core::name_of(type)));
  }
}

void complain_about_missing(const gate_options& options, const selection& s, gate_report& report) {
  const auto offers_any = [&](const auto& wanted) {
    for (const core::operation* op : s.operations)
      for (const core::dtype type : s.dtypes)
        if (wanted(*op, type) && report.candidate.offers(op->name, type)) return true;
    return false;
  };
  for (const std::string& name : options.operations)
    if (!offers_any([&](const core::operation& op, core::dtype) { return op.name == name; }))
      report.complaints.push_back(not_offered(name, report.candidate, s));
  if (s.dtypes_named)
    for (const core::dtype wanted : s.dtypes)
      if (!offers_any([&](const core::operation&, core::dtype type) { return type == wanted; }))
        report.complaints.push_back(
            fmt::format("{} was requested and is not offered{}", core::name_of(wanted), hint_to_offer(options)));
}

// Whether errors grow with a length or a position; the magnitude of a state is neither.
bool grows_with_length(const core::operation& op) {
  return op.grows_with && op.grows_with->quantity != core::with_state.quantity;
}

void complain_about_digits(const check_result& c, const required_digits& wanted, gate_report& report) {
  // The last of n positions is n - 1.
  const double needed = static_cast<double>(wanted.up_to - (c.operation->grows_with->along ? 0 : 1));
  double tried = 0, kept = 0;
  for (const auto& [from, there] : c.by_growth) tried = std::max(tried, there.digits_farthest);
  for (const properties::digits_up_to& d : c.digits())
    if (d.digits >= wanted.digits) kept = std::max(kept, d.farthest);
  if (kept >= needed) return;
  const std::string requirement = fmt::format("{} in {} must keep {} digits up to {} and", c.operation->name,
                                              core::name_of(c.type), wanted.digits, wanted.up_to);
  const std::string_view quantity = c.operation->grows_with->quantity;
  report.complaints.push_back(
      kept >= tried ? fmt::format("{} was tried only up to {:.10g} ({}): --shape or --effort full tries more",
                                  requirement, tried, quantity)
      : kept > 0    ? fmt::format("{} keeps them up to {:.10g} ({})", requirement, kept, quantity)
                    : requirement + " keeps fewer everywhere");
}

void complain_about_required_digits(const selection& s, gate_report& report) {
  bool has_digits = false, has_failed = false;
  for (const check_result& c : std::vector(report.checks)) {
    if (!c.checked->decides_class || !grows_with_length(*c.operation)) continue;
    has_failed = has_failed || c.verdict() == status::failed;
    if (c.verdict() != status::passed || !c.tells_digits()) continue;
    has_digits = true;
    for (const required_digits& wanted : s.digits) complain_about_digits(c, wanted, report);
  }
  if (!has_digits && !s.digits.empty() && report.part_of.is_whole())
    report.complaints.emplace_back(has_failed
                                       ? "--require-digits was not judged: the check that counts digits failed"
                                       : "--require-digits was not judged: no check counts digits along a length");
}

// Whether the check that compares with the truth has some of the requested families: values of NaN have no gradient.
bool has_requested_families(const selection& s, const core::operation& op) {
  return s.families.empty() || std::any_of(s.properties.begin(), s.properties.end(), [&](const auto* p) {
           if (!p->decides_class || !p->applies(op)) return false;
           const std::vector<properties::family> all = properties::families_of(*p, op);
           return std::any_of(all.begin(), all.end(), [&](const properties::family& f) {
             return std::find(s.families.begin(), s.families.end(), f.name) != s.families.end();
           });
         });
}

void complain_about_gaps(const selection& s, const std::vector<part_record>& parts, gate_report& report) {
  if (report.checks.empty() && report.adapter_faults.empty() && report.part_of.is_whole())
    report.complaints.emplace_back("no check was executed: " + why_no_check(s, report.candidate));
  const auto decided = [](const check_result& c) { return c.count(status::passed) + c.count(status::failed) > 0; };
  if (!report.checks.empty() && std::none_of(report.checks.begin(), report.checks.end(), decided))
    report.complaints.emplace_back("no check gave a verdict: all cases were skipped or uninformative");
  for (const part_record& part : parts) {
    const bool checked = std::any_of(part.checks.begin(), part.checks.end(),
                                     [&](const check_result& c) { return c.checked->decides_class && decided(c); });
    if ((!part.adapter || part.adapter->others_answered) && !checked && !s.properties_named &&
        has_requested_families(s, *part.operation))
      report.complaints.push_back(fmt::format(
          "no check compared {} in {} with the truth, so that nothing says whether its values are right: {}",
          part.operation->name, core::name_of(part.type), why_undecided(part, report.candidate)));
  }
  for (const check_result& c : report.checks) {
    const auto reached = c.accuracy_class();
    const bool judged =
        c.checked->decides_class && c.verdict() == status::passed && reference::has_classes(*c.operation);
    if (!s.good_enough.empty() && judged && !(reached && s.good_enough.contains(*reached)))
      report.complaints.push_back(fmt::format("{} in {} is of class {}, which is not among those required",
                                              c.operation->name, core::name_of(c.type),
                                              reached ? name_of(*reached) : "none"));
  }
  complain_about_required_digits(s, report);
}

void complain_about_suspicions(gate_report& report) {
  for (const check_result& c : report.checks) {
    const bool is_near_a_bug = c.checked->decides_class && c.verdict() == status::passed && !c.explaining_class();
    if (c.suspicious || is_near_a_bug)
      report.complaints.push_back(
          fmt::format("{} in {} is suspicious, and --strict was asked for", c.operation->name, core::name_of(c.type)));
  }
}

gate_verdict verdict_of(const gate_report& report) {
  std::size_t failed = 0, broken = 0;
  for (const adapter_fault& f : report.adapter_faults) is_broken(f) ? ++broken : ++failed;
  for (const check_result& c : report.checks) {
    failed += c.verdict() == status::failed && !is_excused(report, c);
    broken += is_process_fault(report, c);
  }
  if (broken > 0 && broken == report.checks.size() + report.adapter_faults.size()) return gate_verdict::broken;
  return failed > 0 || broken > 0 || !report.complaints.empty() ? gate_verdict::failed : gate_verdict::passed;
}

}  // namespace assay::tools
