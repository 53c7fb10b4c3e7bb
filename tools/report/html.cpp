#include <fmt/format.h>

#include <algorithm>

#include "tools/report/escape.hpp"
#include "tools/report/html_parts.hpp"
#include "tools/report/svg_chart.hpp"

namespace assay::tools {
namespace {

using properties::check_result;
// If there are more failures, they are folded, and the reader opens them.
constexpr std::size_t failures_open = 4;

std::string section(const std::string& id, const std::string& title, const std::string& note, const std::string& body) {
  if (body.empty()) return {};
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}{3}</section>\n", id,
      title, note.empty() ? "" : "<p class=\"note\">" + note + "</p>\n", body);
}

std::string list(const char* kind, const std::vector<std::string>& sentences) {
  std::string items;
  for (const std::string& s : sentences) items += "<li>" + markup_sentence(s) + "</li>\n";
  return items.empty() ? items : fmt::format("<ul class=\"{}\">\n{}</ul>\n", kind, items);
}

std::string capital(std::string word) {
  if (!word.empty() && word[0] >= 'a' && word[0] <= 'z') word[0] = static_cast<char>(word[0] - 'a' + 'A');
  return word;
}

std::string header(const gate_report& r) {
  std::string facts =
      r.golden.empty()
          ? fmt::format("<dt>candidate</dt><dd><code>{}</code></dd><dt>effort</dt><dd>{}</dd><dt>seed</dt><dd>{}</dd>",
                        escape_markup(r.candidate_spec), escape_markup(r.effort), r.seed)
          : fmt::format("<dt>outputs</dt><dd><code>{}</code></dd><dt>golden sets</dt><dd><code>{}</code></dd>",
                        escape_markup(r.candidate_spec), escape_markup(r.golden.string()));
  if (r.formula)
    facts += fmt::format("<dt>judged against</dt><dd><code>{}</code> (sha256 {}), evaluated exactly{}</dd>",
                         escape_markup(r.formula->spec), escape_markup(r.formula->sha256.substr(0, 12)),
                         escape_markup(captured_in_words(*r.formula)));
  for (const auto& [op, narrowed] : narrower_domains(r)) {
    std::string words;
    for (const auto& [name, range] : narrowed) words += fmt::format("{}{} {}", words.empty() ? "" : "; ", name, range);
    facts += fmt::format("<dt>narrower domain</dt><dd>{}: {}; cases outside it were not sent</dd>", escape_markup(op),
                         escape_markup(words));
  }
  for (const auto& [op, why] : declined_calls(r))
    facts += fmt::format("<dt>declined calls</dt><dd>{}: {}; they were not judged</dd>", escape_markup(op),
                         escape_markup(why));
  const char* verdict = name_of(r.verdict);
  return fmt::format(
      "<header class=\"{0}\">\n<h1><span class=\"word\">{1}</span>: {2}</h1>\n<p "
      "class=\"counts\">{3}</p>\n</header>\n{4}{5}"
      "{6}<dl class=\"facts\">{7}</dl>\n",
      verdict, capital(verdict), escape_markup(candidate_title(r)), counts_in_words(r), list("findings", r.findings),
      list("complaints", texts_of(r.complaints)), list("notes", notes_of(r)), facts);
}

std::string failure(const gate_report& r, const check_result& c, bool open) {
  const std::string others = consequences_in_words(r, c);
  return fmt::format(
      "<details class=\"failure\" id=\"{}\"{}><summary><b>{}</b> of {} in {}</summary>\n<p>{}</p>\n{}<p "
      "class=\"note\">{}: "
      "{}</p>\n{}<pre class=\"replay\"><code>{}</code></pre></details>\n",
      escape_markup(failure_id(c)), open ? " open" : "", escape_markup(c.checked->name),
      escape_markup(c.operation->name), core::name_of(c.type), escape_markup(c.found->shown.message),
      others.empty() ? "" : "<p>" + escape_markup(others) + "</p>\n",
      r.golden.empty() ? smallest_case_words(c) : "File",
      escape_markup(r.golden.empty() ? summary(c.found->minimal) : c.found->minimal.family),
      counterexample_tables(r, c), escape_markup(replay_command(r, c)));
}

std::string failure_details(const gate_report& r) {
  std::string first, more;
  std::size_t shown = 0;
  for (const check_result& c : r.checks) {
    if (!c.found || c.is_consequence) continue;
    const bool open = shown++ < failures_open;
    (open ? first : more) += failure(r, c, open);
  }
  if (more.empty()) return first;
  return first + fmt::format("<details class=\"more\"><summary>{} more failures</summary>\n{}</details>\n",
                             shown - failures_open, more);
}

std::string stderr_details(const gate_report& r) {
  std::string s;
  const auto excerpts = stderr_excerpts(r);
  for (std::size_t k = 0; k < std::min(excerpts.size(), stderr_shown); ++k) {
    std::string lines;
    for (const std::string& line : excerpts[k].lines) lines += escape_markup(line) + "\n";
    s += fmt::format("<p>{}</p>\n<pre class=\"stderr\"><code>{}</code></pre>\n",
                     escape_markup(places_in_words(excerpts[k])), lines);
  }
  if (excerpts.size() > stderr_shown)
    s += fmt::format("<p class=\"note\">{} more in report.json</p>\n", excerpts.size() - stderr_shown);
  return s;
}

std::string charts(const gate_report& r) {
  std::string s;
  std::size_t number = 0;
  for (const check_result& c : r.checks)
    if (has_chart(c))
      s += fmt::format("<figure><figcaption>{} <b>{}</b> <span class=\"class\">{}</span></figcaption>\n{}</figure>\n",
                       escape_markup(c.operation->name), core::name_of(c.type),
                       reference::has_classes(*c.operation) || !c.share_of_law() ? class_word(c) : "",
                       error_chart(c, fmt::format("chart{}", number++)));
  return s.empty() ? s : "<div class=\"grid\">\n" + s + "</div>\n";
}

std::string footer(const gate_report& r) {
  return fmt::format("<footer>\n<p id=\"run\">Assay {}, {}, {:.1f} s</p>\n</footer>\n", escape_markup(r.run.version),
                     escape_markup(r.run.started), r.run.seconds);
}

}  // namespace

std::string to_html(const gate_report& r) {
  std::string s = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src "
      "data:\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>Assay: {}, {}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
      escape_markup(candidate_title(r)), name_of(r.verdict), page_style());
  s += header(r) + "<main>\n";
  s += section("failures", "What is wrong", "", failure_details(r));
  s += section("stderr", "Stderr of the candidate", "The end of what it wrote before it ended or was stopped.",
               stderr_details(r));
  s += section(
      "accuracy", "Accuracy",
      std::string("The class is the first whose law, with those before it, explains every case; an operation with one "
                  "algorithm has none. ") +
          ulp_words,
      accuracy_table(r));
  s += section(
      "charts", "Error against what it grows with",
      "The number of tokens, the largest position, and others. Each point is the largest error among the cases from "
      "there to the next power of two, over all families. What a class allows an element depends on its values; each "
      "line is the most that a class has allowed these elements up to there. Hollow: no error at all.",
      charts(r));
  s += section("families", "Error over allowance, by family",
               "The largest error as a part of what is allowed; a bug begins above 1. Families that make nothing to "
               "compare are not listed.",
               family_tables(r));
  if (!r.checks.empty())
    s += section("checks", "Checks", "",
                 "<details><summary>" + counts_in_words(r) + "</summary>\n" + checks_table(r) + "</details>\n");
  return s + "</main>\n" + footer(r) + "</body>\n</html>\n";
}

}  // namespace assay::tools
