#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "tools/report/escape.hpp"
#include "tools/report/html_parts.hpp"

namespace assay::tools {
namespace {

using properties::check_result;
constexpr std::size_t rows_shown = 40;

// All tensors of one shape share a table, with one row for each element.
struct shape_group {
  core::shape shape;
  std::vector<std::pair<std::string, const core::tensor*>> inputs;
  std::vector<std::string> outputs;
};

std::vector<shape_group> groups_of(const properties::counterexample& found) {
  std::vector<shape_group> groups;
  const auto group = [&](const core::tensor& t) -> shape_group& {
    for (shape_group& g : groups)
      if (g.shape == t.shape()) return g;
    return groups.emplace_back(shape_group{t.shape(), {}, {}});
  };
  for (const auto& [name, t] : found.minimal.call.inputs) group(t).inputs.emplace_back(name, &t);
  for (const auto& [name, t] : found.shown.expected) {
    const auto got = found.shown.actual.find(name);
    if (got != found.shown.actual.end() && got->second.shape() == t.shape()) group(t).outputs.push_back(name);
  }
  return groups;
}

std::string number(core::dtype type, double x) {
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  return std::isnan(x) ? "nan" : type == core::dtype::f64 ? fmt::format("{:.17g}", x) : fmt::format("{:.9g}", x);
}

class writer {
 public:
  writer(const gate_report& r, const check_result& c)
      : found_(*c.found), type_(c.type), compute_(r.candidate.precisions_of(*c.operation, c.type)) {
    // Only in a plain comparison do the laws apply to these outputs.
    if (c.checked->decides_class && found_.shown.value)
      laws_ = properties::allowances_of(found_.minimal.call, compute_);
  }

  std::string table(const shape_group& g) const {
    std::string head = "<th scope=\"col\">index</th>";
    for (const auto& [name, t] : g.inputs) head += "<th scope=\"col\">" + escape_markup(name) + "</th>";
    for (const std::string& name : g.outputs)
      for (const char* what : {"expected", "got", "error", "allowed"})
        head += fmt::format("<th scope=\"col\">{} {}</th>", escape_markup(name), what);
    const std::size_t elements = core::element_count(g.shape);
    std::string rows;
    for (const std::size_t i : shown_of(g, elements)) rows += row(g, i);
    std::string s =
        "<table class=\"numbers\"><thead><tr>" + head + "</tr></thead><tbody>\n" + rows + "</tbody></table>";
    s = scrolling("the smallest failing case", s);
    if (elements > rows_shown)
      s += fmt::format("<p class=\"note\">{} more are in the file.</p>\n", elements - rows_shown);
    return s;
  }

 private:
  // The first elements, and the worst one: if it is further behind, it replaces the last row.
  [[nodiscard]] std::vector<std::size_t> shown_of(const shape_group& g, std::size_t elements) const {
    std::vector<std::size_t> all(std::min(elements, rows_shown));
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (const std::string& name : g.outputs)
      if (const std::size_t worst = found_.shown.value ? found_.shown.value->worst.index : 0;
          worst >= all.size() && worst < elements && is_worst(name, worst))
        all.back() = worst;
    return all;
  }

  bool is_worst(const std::string& name, std::size_t i) const {
    const auto& value = found_.shown.value;
    return value && value->worst.output == name && value->worst.index == i &&
           core::same_value(value->worst.expected, found_.shown.expected.at(name).values.storage()[i]);
  }

  std::string allowed(const std::string& name, std::size_t i, double expected) const {
    if (!std::isfinite(expected)) return "–";
    if (is_worst(name, i)) return fmt::format("{:.3g}", found_.shown.value->worst.allowed);
    if (!laws_) return "–";
    const auto law = laws_->find(name);
    if (law == laws_->end() || law->second.k.back().size() <= i) return "–";
    const double k = law->second.k.back().storage()[i];
    return fmt::format("{:.3g}", properties::allowed_error(type_, compute_, k, expected));
  }

  std::string row(const shape_group& g, std::size_t i) const {
    std::string cells = "<th scope=\"row\">" + core::index_text(g.shape, i) + "</th>";
    bool marked = false;
    for (const auto& [name, t] : g.inputs) cells += "<td>" + number(type_, t->values.storage()[i]) + "</td>";
    for (const std::string& name : g.outputs) {
      const double expected = found_.shown.expected.at(name).values.storage()[i];
      const double got = found_.shown.actual.at(name).values.storage()[i];
      const double error = core::same_value(expected, got) ? 0.0 : std::fabs(got - expected);
      marked = marked || is_worst(name, i);
      cells += fmt::format("<td>{}</td><td>{}</td><td>{}</td><td>{}</td>", number(type_, expected), number(type_, got),
                           std::isfinite(error) ? fmt::format("{:.3g}", error) : "wrong special value",
                           allowed(name, i, expected));
    }
    return fmt::format("<tr{}>{}</tr>\n", marked ? " class=\"wrong\"" : "", cells);
  }

  const properties::counterexample& found_;
  core::dtype type_;
  core::precisions compute_;
  std::shared_ptr<const reference::allowances> laws_;
};

}  // namespace

std::string counterexample_tables(const gate_report& r, const check_result& c) {
  const writer w(r, c);
  std::string s;
  for (const shape_group& g : groups_of(*c.found)) s += w.table(g);
  return s;
}

}  // namespace assay::tools
