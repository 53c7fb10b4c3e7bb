#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/report/report.hpp"

namespace assay::tools {
namespace {

using properties::check_result;
using properties::status;

std::string domain_lines(const gate_report& r) {
  std::string text;
  for (const auto& [op, inputs] : r.candidate.domain) {
    const auto concerns = [&](const check_result& c) { return c.operation->name == op; };
    if (std::none_of(r.checks.begin(), r.checks.end(), concerns)) continue;
    text += fmt::format("- `{}` declares a narrower domain:", op);
    for (const auto& [name, range] : inputs)
      text += range.high == std::numeric_limits<double>::max()
                  ? fmt::format(" `{}` finite;", name)
                  : fmt::format(" `{}` in [{}, {}];", name, range.low, range.high);
    text += " cases outside it were not sent.\n";
  }
  return text.empty() ? text : text + "\n";
}

std::string selection_lines(const gate_report& r) {
  std::string text;
  if (!r.only_properties.empty())
    text +=
        fmt::format("- Only part of the checks was asked for: properties {}.\n", fmt::join(r.only_properties, ", "));
  if (!r.only_families.empty())
    text += fmt::format("- Only part of the cases was asked for: families {}.\n", fmt::join(r.only_families, ", "));
  return text.empty() ? text : text + "\n";
}

std::string class_table(const gate_report& r) {
  std::string text =
      "| operation | dtype | class | largest error, ulp of max(1, \\|s\\|) | error / law of its class "
      "|\n|---|---|---|---|---|\n";
  for (const check_result& c : r.checks) {
    if (!c.checked->decides_class) continue;
    const auto reached = c.accuracy_class();
    const std::string ratio = reached ? fmt::format("{:.2f}", c.ratios[static_cast<std::size_t>(*reached)]) : "-";
    text += fmt::format("| `{}` | {} | {} | {:.3g} | {} |\n", c.operation->name, core::name_of(c.type),
                        reached                         ? std::string(name_of(*reached))
                        : c.verdict() == status::failed ? "none: a bug"
                                                        : "-",
                        c.largest_ulp, ratio);
    // One case alone that needs this class is worth a look.
    if (reached && *reached != reference::accuracy_class::uniform) {
      const auto k = static_cast<std::size_t>(*reached);
      if (c.needed_by[k] == 1 && c.forced_by[k - 1])
        text +=
            fmt::format("| | | | {} because of one case | `{}` |\n", name_of(*reached), summary(*c.forced_by[k - 1]));
    }
  }
  return text;
}

std::string horizon_lines(const gate_report& r) {
  std::string text;
  for (const measured_horizon& h : r.horizons) {
    text += fmt::format("- `{}` {}:", h.operation->name, core::name_of(h.type));
    for (const auto& m : h.found.marks)
      if (m.tokens > 0)
        text += fmt::format(" {} digits up to {}{} tokens;", m.digits, m.tokens, m.reached_end ? " or more" : "");
    text += "\n";
  }
  return text;
}

std::string check_table(const gate_report& r) {
  std::string text =
      "| property | operation | dtype | verdict | cases | uninformative | skipped |\n|---|---|---|---|---|---|---|\n";
  for (const check_result& c : r.checks)
    text += fmt::format("| {} | `{}` | {} | {} | {} | {} | {} |\n", c.checked->name, c.operation->name,
                        core::name_of(c.type), properties::name_of(c.verdict()), c.run(),
                        c.count(status::uninformative), c.count(status::unsupported) + c.count(status::outside_domain));
  return text;
}

std::string failures(const gate_report& r) {
  std::string text;
  for (const check_result& c : r.checks)
    if (c.found)
      text += fmt::format(
          "- **{}** of `{}` in {}: {}\n  Smallest case found: {}. Replay: `assay replay "
          "counterexamples/{} --candidate '{}'`\n",
          c.checked->name, c.operation->name, core::name_of(c.type), c.found->shown.message, summary(c.found->minimal),
          counterexample_name(c), r.candidate_spec);
  return text;
}

}  // namespace

const char* name_of(gate_verdict v) {
  switch (v) {
    case gate_verdict::passed:
      return "passed";
    case gate_verdict::failed:
      return "failed";
    case gate_verdict::broken:
      return "broken";
  }
  return "unknown";
}

std::string counterexample_name(const check_result& c) {
  std::string name = fmt::format("{}-{}-{}.json", c.checked->name, c.operation->name, core::name_of(c.type));
  std::replace_if(
      name.begin(), name.end(), [](char x) { return x == '/' || x == ':'; }, '-');
  return name;
}

std::string to_markdown(const gate_report& r) {
  std::string text = fmt::format("# Assay: {} {} - {}\n\n", r.candidate.name, r.candidate.version, name_of(r.verdict));
  text += fmt::format("Candidate `{}`, effort {}, seed {}.\n\n", r.candidate_spec, r.effort, r.seed);
  for (const std::string& f : r.findings) text += "- **" + f + "**\n";
  if (!r.findings.empty()) text += "\n";
  text += selection_lines(r) + domain_lines(r);
  for (const excused_check& e : r.excused)
    text += fmt::format("- Known to fail: {} of `{}` in {}: {}\n", e.property, e.operation, e.dtype, e.reason);
  for (const std::string& w : r.warnings) text += "- Warning: " + w + "\n";
  for (const std::string& c : r.complaints) text += "- " + c + "\n";
  if (!r.complaints.empty()) text += "\n";
  if (const std::string lines = failures(r); !lines.empty()) text += "## Failures\n\n" + lines + "\n";
  text += "## Accuracy\n\n" + class_table(r) + "\n";
  if (!r.horizons.empty())
    text += "Horizon, mild inputs (largest error against max(1, |s|)):\n\n" + horizon_lines(r) + "\n";
  return text + "## Checks\n\n" + check_table(r);
}

}  // namespace assay::tools
