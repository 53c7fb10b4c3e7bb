#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/report/escape.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {
namespace {

using properties::check_result;
using properties::status;

// A table with more rows is folded, and the reader opens it.
constexpr std::size_t rows_unfolded = 12;

std::string folded(const std::string& title, const std::string& table) {
  return fmt::format("<details><summary>{}</summary>\n\n{}\n</details>\n", escape_markup(title), table);
}

std::string domain_lines(const gate_report& r) {
  std::string text;
  for (const auto& [op, narrowed] : narrower_domains(r)) {
    text += fmt::format("- {} is asked in a narrower domain:", markdown_code(op));
    for (const auto& [name, range] : narrowed) text += fmt::format(" {} {};", markdown_code(name), range);
    text += " cases outside it were not sent.\n";
  }
  for (const auto& [op, why] : declined_calls(r))
    text += fmt::format("- {} declined calls, which were not judged: {}\n", markdown_code(op), escape_markdown(why));
  return text.empty() ? text : text + "\n";
}

std::string class_table(const gate_report& r) {
  std::string text =
      "| operation | dtype | class | largest error, ulp | error / law of its class | digits | sizes tried, up to |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const check_result& c : r.checks) {
    if (!c.checked->decides_class) continue;
    const auto reached = c.accuracy_class();
    const auto own = ratio_to_own_law(c);
    const std::string ratio = own ? fmt::format("{:.2f}", *own) : "-";
    std::string sizes;
    for (const auto& [symbol, size] : c.largest_sizes)
      sizes += fmt::format("{}{} {}", sizes.empty() ? "" : ", ", symbol, size);
    text += fmt::format("| `{}` | {} | {} | {:.3g} | {} | {} | {} |\n", c.operation->name, dtype_word(c), class_word(c),
                        largest_error_ulp(c), ratio, escape_markdown(digits_in_words(c)), sizes);
    // A single case that needs this class is worth a look.
    if (reached && *reached != reference::accuracy_class::uniform) {
      const auto k = static_cast<std::size_t>(*reached);
      if (c.needed_by[k] == 1 && c.forced_by[k - 1])
        text += fmt::format("| | | | {} because of one case | `{}` | | |\n", name_of(*reached), *c.forced_by[k - 1]);
    }
  }
  const bool rounds =
      std::any_of(r.checks.begin(), r.checks.end(), [](const check_result& c) { return !is_exact(*c.operation); });
  return rounds ? text + "\n" + escape_markdown(ulp_words) + "\n" : text;
}

// "- f32: sequential 6, tree 1"
std::string class_counts(const gate_report& r) {
  std::map<core::dtype, std::map<std::string, std::size_t>> reached;
  for (const check_result& c : r.checks)
    if (c.checked->decides_class && (reference::has_classes(*c.operation) || !c.share_of_law()))
      ++reached[c.type][class_word(c)];
  std::string text;
  for (const auto& [type, classes] : reached) {
    std::string counts;
    for (const auto& [word, count] : classes) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", word, count);
    text += fmt::format("- {}: {}\n", core::name_of(type), counts);
  }
  return text;
}

std::string check_table(const gate_report& r) {
  std::string text =
      "| property | operation | dtype | verdict | cases | uninformative | skipped |\n|---|---|---|---|---|---|---|\n";
  for (const check_result& c : r.checks)
    text += fmt::format("| {} | `{}` | {} | {} | {} | {} | {} |\n", c.checked->name, c.operation->name, dtype_word(c),
                        properties::name_of(c.verdict()), c.run(), c.count(status::uninformative),
                        c.count(status::unsupported) + c.count(status::outside_domain));
  return text;
}

// An error that a finding or a complaint already states is not repeated.
std::string message_of(const gate_report& r, const check_result& c) {
  const std::string& message = c.found->shown.message;
  const auto tells = [&](const std::string& text) { return text.find(message) != std::string::npos; };
  const std::vector<std::string> complaints = texts_of(r.complaints);
  const bool is_stated = c.found->shown.failure && (std::any_of(r.findings.begin(), r.findings.end(), tells) ||
                                                    std::any_of(complaints.begin(), complaints.end(), tells));
  return is_stated ? "the error stated above" : message;
}

std::string failures(const gate_report& r) {
  std::string text;
  for (const check_result& c : r.checks)
    if (c.found && !c.is_consequence) {
      const std::string others = consequences_in_words(r, c);
      // In its own block a command keeps every blank, and can be copied as a line.
      text += fmt::format("- **{}** of `{}` in {}: {}\n  {}: {}. Replay:\n{}", c.checked->name, c.operation->name,
                          dtype_word(c), escape_markdown(message_of(r, c)), smallest_case_words(c),
                          escape_markdown(summary(c.found->minimal)),
                          markdown_block({plain(replay_command(r, c))}, "sh", "  "));
      if (!others.empty()) text += "  " + escape_markdown(others) + "\n";
    }
  return text;
}

std::string list(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& s : sentences) text += "- " + markdown_sentence(s) + "\n";
  return text.empty() ? text : text + "\n";
}

// The text that the candidate wrote before it ended.
std::string stderr_blocks(const gate_report& r) {
  std::string text;
  const auto excerpts = stderr_excerpts(r);
  for (std::size_t k = 0; k < std::min(excerpts.size(), stderr_shown); ++k)
    text += fmt::format("- {}:\n{}", escape_markdown(places_in_words(excerpts[k])),
                        markdown_block(excerpts[k].lines, "text", "  "));
  if (excerpts.size() > stderr_shown)
    text += fmt::format("- and {} more in report.json\n", excerpts.size() - stderr_shown);
  return text;
}

// The accuracy table; folded if it is long.
std::string accuracy(const gate_report& r) {
  std::string text;
  const auto rows = static_cast<std::size_t>(
      std::count_if(r.checks.begin(), r.checks.end(), [](const check_result& c) { return c.checked->decides_class; }));
  if (rows == 0) return text;
  text += "## Accuracy\n\n";
  if (rows > rows_unfolded) text += class_counts(r) + "\n";
  return text + (rows > rows_unfolded ? folded("accuracy by operation and dtype", class_table(r)) : class_table(r));
}

}  // namespace

std::string to_markdown(const gate_report& r) {
  std::string text = fmt::format("# Assay: {} - {}\n\n", escape_markdown(candidate_title(r)), name_of(r.verdict));
  text += list(r.findings) + list(texts_of(r.complaints));
  text += fmt::format("{}. Candidate {}, effort {}, seed {}.\n\n", counts_in_words(r), markdown_code(r.candidate_spec),
                      r.effort, r.seed);
  if (r.formula)
    text += fmt::format("Judged against {} (sha256 {}), evaluated exactly.{}\n\n", markdown_code(r.formula->spec),
                        r.formula->sha256.substr(0, 12), captured_in_words(*r.formula));
  text += domain_lines(r) + list(notes_of(r));
  if (const std::string lines = failures(r); !lines.empty()) text += "## Failures\n\n" + lines + "\n";
  if (const std::string said = stderr_blocks(r); !said.empty()) text += "## Stderr of the candidate\n\n" + said + "\n";
  text += accuracy(r);
  if (r.checks.empty()) return text;
  return text + "\n## Checks\n\n" + folded(counts_in_words(r), check_table(r));
}

}  // namespace assay::tools
