#include "tools/explore/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tools/explore/draw.hpp"
#include "tools/explore/page_parts.hpp"
#include "tools/report/escape.hpp"

namespace assay::explore {
namespace {

using tools::escape_markup;

std::string data_keys(const filter_keys& k) {
  std::string s;
  for (const auto& [name, value] :
       {std::pair{"implementation", &k.implementation}, {"storage", &k.storage}, {"family", &k.family}})
    if (!value->empty()) s += fmt::format(" data-{}=\"{}\"", name, escape_markup(*value));
  return s;
}

std::string table(const heat_map& map) {
  std::string s =
      fmt::format("<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">{}</th>", escape_markup(map.row_word));
  for (const std::string& c : map.columns) s += fmt::format("<th scope=\"col\">{}</th>", escape_markup(c));
  s += "</tr></thead>\n<tbody>\n";
  for (const heat_row& r : map.rows) {
    s += fmt::format("<tr{}><th scope=\"row\">{}</th>", data_keys(r.keys), escape_markup(r.name));
    for (const heat_cell& c : r.cells) {
      if (c.cell.empty()) {
        s += "<td></td>";
        continue;
      }
      s += fmt::format("<td data-cell=\"{}\" data-value=\"{}\"{}{}>{}</td>", escape_markup(c.cell), c.value,
                       c.is_broken ? " class=\"broken\"" : "",
                       c.shade > 0 ? fmt::format(" style=\"--shade:{:.2f}\"", c.shade) : "", escape_markup(c.text));
    }
    s += "</tr>\n";
  }
  return s + "</tbody></table></div>\n";
}

std::string section(const sweep_identity& identity, const question& q) {
  std::string s = fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", q.measure, escape_markup(q.title));
  s += fmt::format("<p class=\"note\"><code>{}</code></p>\n", escape_markup(command_of(identity, q.preset)));
  const std::size_t first = std::min<std::size_t>(q.sentences.size(), 3);
  const auto listed = [&](std::size_t from, std::size_t to) {
    std::string items;
    for (std::size_t k = from; k < to; ++k) items += fmt::format("<li>{}</li>\n", escape_markup(q.sentences[k]));
    return "<ul class=\"answers\">\n" + items + "</ul>\n";
  };
  if (first > 0) s += listed(0, first);
  if (first < q.sentences.size())
    s += fmt::format("<details><summary>{} more in words</summary>\n{}</details>\n", q.sentences.size() - first,
                     listed(first, q.sentences.size()));
  if (!q.charts.empty()) s += "<div class=\"grid\">\n";
  for (const chart& c : q.charts)
    s += fmt::format("<figure{}><figcaption>{}</figcaption>\n{}</figure>\n", data_keys(c.keys), escape_markup(c.title),
                     drawn(c));
  if (!q.charts.empty()) s += "</div>\n";
  for (const heat_map& map : q.maps)
    s += fmt::format("<details><summary>{}</summary>\n{}</details>\n", escape_markup(map.title), table(map));
  return s + "</section>\n";
}

std::string filter_of(const char* key, const char* word, const std::set<std::string>& values) {
  std::string s = fmt::format("<label>{} <select data-key=\"{}\"><option value=\"\">all</option>", word, key);
  for (const std::string& v : values) s += fmt::format("<option>{}</option>", escape_markup(v));
  return s + "</select></label>\n";
}

std::string filters(const std::vector<question>& questions) {
  std::set<std::string> implementations, storages, families;
  const auto take = [&](const filter_keys& k) {
    implementations.insert(k.implementation);
    storages.insert(k.storage);
    families.insert(k.family);
  };
  for (const question& q : questions) {
    for (const chart& c : q.charts) {
      take(c.keys);
      for (const chart_series& s : c.series) take(s.keys);
    }
    for (const heat_map& m : q.maps)
      for (const heat_row& r : m.rows) take(r.keys);
  }
  for (auto* all : {&implementations, &storages, &families}) all->erase("");
  return "<form aria-label=\"What is shown\">\n" + filter_of("implementation", "algorithm", implementations) +
         filter_of("storage", "format", storages) + filter_of("family", "inputs", families) +
         "<button type=\"reset\">show all</button>\n</form>\n";
}

}  // namespace

std::string page(const sweep_identity& identity, const std::vector<question>& questions,
                 const std::vector<std::string>& answers, std::size_t cells, const std::string& beside) {
  std::string s = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>Assay: sweep {0}</title>\n<style>\n{1}{2}</style>\n</head>\n<body "
      "data-formula=\"{4}\">\n<header>\n<h1>{3}</h1>\n",
      escape_markup(identity.name), chart_style(), page_css, escape_markup(identity.question),
      identity.formula.empty() ? "" : escape_markup(" --formula " + tools::shell_word(identity.formula)));
  s += fmt::format(
      "<p class=\"note\">Sweep <code>{}</code> of Assay {}: {} cells{}{}. Lines are measured, dashes are "
      "predicted. A click on a point shows the command that measures it again.</p>\n",
      escape_markup(identity.name), escape_markup(identity.version), cells,
      (identity.formula.empty() ? "" : ", formula " + escape_markup(identity.formula)) +
          (identity.candidate.empty() ? "" : ", candidate " + escape_markup(identity.candidate)),
      beside.empty() ? "" : ", hollow marks: " + escape_markup(beside));
  std::string items;
  for (const std::string& answer : answers) items += fmt::format("<li>{}</li>\n", escape_markup(answer));
  if (!items.empty()) s += "<ul id=\"answer\" class=\"answers\">\n" + items + "</ul>\n";
  s += "</header>\n<nav aria-label=\"Questions\"><ul>\n";
  for (const question& q : questions)
    s += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", q.measure, escape_markup(q.title));
  s += "</ul></nav>\n" + filters(questions) + "<main>\n";
  for (const question& q : questions) s += section(identity, q);
  s += "</main>\n<footer><p>Errors are distances from a truth that is proved by ball arithmetic; the radius of this "
       "truth is among the results of every scan.</p></footer>\n"
       "<div id=\"tip\" role=\"status\" hidden><span></span><code></code></div>\n";
  return s + fmt::format("<script>\n{}</script>\n</body>\n</html>\n", page_js);
}

}  // namespace assay::explore
