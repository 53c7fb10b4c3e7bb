#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/report/escape.hpp"
#include "tools/report/html_parts.hpp"

namespace assay::tools {
namespace {

using properties::check_result;
using properties::status;

std::string cell(const std::string& text) { return "<td>" + escape_markup(text) + "</td>"; }

std::string table(const std::vector<const char*>& columns, const std::string& rows) {
  std::string head;
  for (const char* c : columns) head += fmt::format("<th scope=\"col\">{}</th>", c);
  return fmt::format("<table><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table>", head, rows);
}

std::string operation_cells(const check_result& c) {
  return fmt::format("<th scope=\"row\">{}</th><td>{}</td>", escape_markup(c.operation->name), dtype_word(c));
}

// Error over allowance of one operation, over all its checks: by family, then by dtype.
using family_map = std::map<std::string, std::map<core::dtype, double>>;

std::map<std::string, family_map> families_by_operation(const gate_report& r) {
  std::map<std::string, family_map> all;
  for (const check_result& c : r.checks)
    for (const auto& [family, ratio] : c.error_to_allowance) {
      auto [it, is_new] = all[c.operation->name][family].emplace(c.type, ratio);
      if (!is_new) it->second = std::max(it->second, ratio);
    }
  return all;
}

std::string heat_cell(double ratio) {
  if (!(ratio <= 1.0))
    return fmt::format("<td class=\"bug\">{}</td>", std::isfinite(ratio) ? fmt::format("{:.2g}", ratio) : "∞");
  const int heat = ratio <= 0.0 ? 0 : ratio < 0.01 ? 1 : ratio < 0.1 ? 2 : ratio < 0.3 ? 3 : ratio < 0.7 ? 4 : 5;
  return fmt::format("<td class=\"heat{}\">{}</td>", heat,
                     ratio > 0.0 && ratio < 0.005 ? "&lt; 0.01" : fmt::format("{:.2g}", ratio));
}

std::string family_table(const std::string& operation, const family_map& families) {
  std::map<core::dtype, bool> types;
  for (const auto& [family, by_type] : families)
    for (const auto& [type, ratio] : by_type) types[type] = true;
  std::string head = "<th scope=\"col\">family</th>", rows;
  for (const auto& [type, present] : types) head += fmt::format("<th scope=\"col\">{}</th>", core::name_of(type));
  for (const auto& [family, by_type] : families) {
    rows += "<tr><th scope=\"row\">" + escape_markup(family) + "</th>";
    for (const auto& [type, present] : types) {
      const auto it = by_type.find(type);
      rows += it == by_type.end() ? "<td>–</td>" : heat_cell(it->second);
    }
    rows += "</tr>\n";
  }
  return fmt::format(
      "<div class=\"card\"><table class=\"heat\"><caption>{}</caption><thead><tr>{}</tr></thead><tbody>\n{}</tbody>"
      "</table></div>\n",
      escape_markup(operation), head, rows);
}

}  // namespace

std::string scrolling(const std::string& label, const std::string& table) {
  return fmt::format("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">{}</div>\n",
                     escape_markup(label), table);
}

std::string accuracy_table(const gate_report& r) {
  std::string rows;
  for (const check_result& c : r.checks) {
    if (!c.checked->decides_class) continue;
    const auto reached = c.accuracy_class();
    const auto k = reached ? static_cast<std::size_t>(*reached) : 0;
    const auto own = ratio_to_own_law(c);
    rows += fmt::format("<tr>{}<td>{}</td><td>{:.3g}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        operation_cells(c), class_word(c), largest_error_ulp(c),
                        own ? fmt::format("{:.2f}", *own) : "–", escape_markup(digits_in_words(c)),
                        k > 0 && c.forced_by[k - 1] ? escape_markup(*c.forced_by[k - 1]) : "–");
  }
  return rows.empty() ? rows
                      : scrolling("accuracy",
                                  table({"operation", "dtype", "class", "largest error, ulp",
                                         "error / law of its class", "digits", "the case that rules out a better one"},
                                        rows));
}

std::string family_tables(const gate_report& r) {
  std::string s;
  for (const auto& [operation, families] : families_by_operation(r)) s += family_table(operation, families);
  return s.empty() ? s : "<div class=\"columns\">\n" + s + "</div>\n";
}

std::string checks_table(const gate_report& r) {
  std::string rows;
  for (const check_result& c : r.checks) {
    const std::string reason = reason_of(r, c);
    rows += fmt::format("<tr class=\"{}\"><th scope=\"row\">{}</th>{}<td>{}</td><td class=\"verdict\">{}</td>",
                        verdict_word(c), escape_markup(c.checked->name), cell(c.operation->name), dtype_word(c),
                        verdict_word(c));
    rows += fmt::format("<td>{}</td><td>{}</td><td>{}</td>{}</tr>\n", c.run(), c.count(status::uninformative),
                        c.count(status::unsupported) + c.count(status::outside_domain), cell(reason));
  }
  return scrolling(
      "checks", table({"property", "operation", "dtype", "verdict", "cases", "uninformative", "skipped", "why"}, rows));
}

}  // namespace assay::tools
