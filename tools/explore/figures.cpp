#include "tools/explore/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tools/explore/cell_operation.hpp"
#include "tools/explore/measure.hpp"
#include "tools/explore/presentation.hpp"

namespace assay::explore {
namespace {

double place_on(x_axis axis, const cell& c) {
  if (axis == x_axis::size) return static_cast<double>(c.size);
  return axis == x_axis::decay ? c.decay : 1.0 / (1.0 - c.decay);
}

std::string slug(const std::string& text) {
  std::string id;
  bool apart = false;
  for (const char c : text) {
    const bool is_kept = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_';
    if (is_kept || c == '-') {
      if (apart && !id.empty()) id += '-';
      id += is_kept ? std::string(1, c) : "minus";
    }
    apart = !is_kept && c != '-';
  }
  return id;
}

// The values that the cells of one chart share.
std::string common_words(const chart_spec& spec, const cell& c) {
  const measure& m = *find_measure(c.measure);
  std::vector<std::string> words;
  if (spec.one_chart_per_storage) words.push_back(c.storage);
  if (has_family(m)) words.push_back(c.family);
  if (spec.axis == x_axis::size && !m.decay_means.empty()) words.push_back(fmt::format("decay {}", c.decay));
  if (!m.scale_means.empty()) words.push_back(fmt::format("scale {}", c.scale));
  if (spec.one_chart_per_size) words.push_back(fmt::format("{} tokens", c.size));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string series_words(const chart_spec& spec, const cell& c) {
  if (spec.one_chart_per_storage)
    return c.arithmetic == c.storage ? c.implementation : fmt::format("{}, {} inside", c.implementation, c.arithmetic);
  return fmt::format("{} {}", c.implementation, c.arithmetic == c.storage ? c.storage : c.arithmetic + ">" + c.storage);
}

void add_cells(const measure& about, const std::vector<measured_cell>& cells, bool beside,
               std::map<std::string, chart>& charts) {
  const chart_spec& spec = *about.presented->drawn;
  for (const measured_cell& m : cells) {
    if (m.what.measure != about.name) continue;
    const double x = place_on(spec.axis, m.what);
    if (!std::isfinite(x)) continue;
    const std::string common = common_words(spec, m.what), name = series_words(spec, m.what);
    chart& c = charts[common];
    if (c.series.empty()) {
      c.title = common;
      c.id = slug(fmt::format("{} {}", about.name, common));
      c.x_label = spec.x_label != nullptr ? spec.x_label : size_words(m.what);
      c.y_label = spec.y_label;
      c.keys = {"", spec.one_chart_per_storage ? m.what.storage : "", m.what.family};
    }
    auto same = std::find_if(c.series.begin(), c.series.end(),
                             [&](const chart_series& s) { return s.name == name && s.beside == beside; });
    if (same == c.series.end())
      same = c.series.insert(c.series.end(), {name, {m.what.implementation, m.what.storage, m.what.family}, beside});
    const double y = value_of(m, spec.result);
    const bool never = std::isnan(y) && spec.axis != x_axis::size;  // it did not happen: there is nothing to draw
    if (!never) same->points.push_back({x, std::isnan(y) ? INFINITY : y, text_of(m.what)});
    const double law = spec.law == nullptr ? std::nan("") : value_of(m, spec.law);
    if (std::isfinite(law) && law > 0.0) same->law.push_back({x, law, ""});
  }
}

std::vector<chart> charts_of(const measure& about, const std::vector<measured_cell>& cells,
                             const std::vector<measured_cell>& beside) {
  if (!about.presented->drawn) return {};
  std::map<std::string, chart> charts;
  add_cells(about, cells, false, charts);
  add_cells(about, beside, true, charts);
  std::vector<chart> all;
  const auto by_x = [](const chart_point& a, const chart_point& b) { return a.x < b.x; };
  for (auto& [common, c] : charts) {
    std::set<double> places;
    for (chart_series& s : c.series) {
      std::sort(s.points.begin(), s.points.end(), by_x);
      std::sort(s.law.begin(), s.law.end(), by_x);
      for (const chart_point& p : s.points) places.insert(p.x);
    }
    std::erase_if(c.series, [](const chart_series& s) { return s.points.empty(); });
    // Two lengths are no curve: the heat maps have them.
    if (places.size() >= 3 || (about.presented->drawn->axis != x_axis::size && places.size() == 2))
      all.push_back(std::move(c));
  }
  // The chart with the most points comes first.
  const auto points = [](const chart& c) {
    std::size_t sum = 0;
    for (const chart_series& series : c.series) sum += series.points.size();
    return sum;
  };
  std::stable_sort(all.begin(), all.end(), [&](const chart& x, const chart& y) { return points(x) > points(y); });
  return all;
}

// All results of a measure without tables of its own.
heat_map table_of(const measure& about, const std::vector<measured_cell>& cells) {
  heat_map map{"All cells", "cell"};
  std::set<std::string> names;
  for (const measured_cell& m : cells)
    if (m.what.measure == about.name)
      for (const auto& [name, value] : m.found) names.insert(name);
  map.columns.assign(names.begin(), names.end());
  for (const measured_cell& m : cells) {
    if (m.what.measure != about.name) continue;
    std::string name = fmt::format("{}, {}", m.what.implementation, format_words(m.what));
    if (has_family(about)) name += ", " + m.what.family;
    if (!about.decay_means.empty()) name += fmt::format(", {}", m.what.decay);
    if (!about.scale_means.empty()) name += fmt::format(", scale {}", m.what.scale);
    if (!about.size_means.empty()) name += fmt::format(", {}", m.what.size);
    heat_row row{name, {m.what.implementation, m.what.storage, m.what.family}};
    for (const std::string& column : map.columns) {
      const double x = value_of(m, column.c_str());
      row.cells.push_back({shown(x), x, 0, false, text_of(m.what)});
    }
    map.rows.push_back(std::move(row));
  }
  return map;
}

}  // namespace

double value_of(const measured_cell& m, const std::string& name) {
  const auto it = m.found.find(name);
  return it == m.found.end() ? std::nan("") : it->second;
}

std::string shown(double x) {
  if (std::isnan(x)) return "–";
  if (std::isinf(x)) return x > 0 ? "∞" : "−∞";
  if (x == std::floor(x) && std::fabs(x) < 1e9) return fmt::format("{:.0f}", x);
  return fmt::format("{:.3g}", x);
}

double fitted_slope(const std::vector<chart_point>& points) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const chart_point& p : points) {
    if (!(p.x > 0.0 && p.y > 0.0) || !std::isfinite(p.x) || !std::isfinite(p.y)) continue;
    const double x = std::log(p.x), y = std::log(p.y);
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  return n < 3 ? std::nan("") : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

std::string format_words(const cell& c) {
  return c.arithmetic == c.storage ? c.storage : fmt::format("{} stored, {} computed", c.storage, c.arithmetic);
}

std::string regime_words(const cell& c) { return fmt::format("{}, decay {}, scale {}", c.family, c.decay, c.scale); }

std::vector<std::string> sentences_of(const std::string& measure, const std::vector<measured_cell>& cells) {
  all_cells own;
  for (const measured_cell& m : cells)
    if (m.what.measure == measure) own.push_back(&m);
  return own.empty() ? sentences() : find_measure(measure)->presented->said(own);
}

std::vector<question> questions_of(const std::vector<measured_cell>& cells, const std::vector<measured_cell>& beside) {
  std::vector<question> all;
  for (const measure& about : measures()) {
    const auto is_own = [&](const measured_cell& m) { return m.what.measure == about.name; };
    if (std::none_of(cells.begin(), cells.end(), is_own)) continue;
    const presentation& p = *about.presented;
    const std::string name(about.name);
    all.push_back({name, p.question, p.preset, sentences_of(name, cells), charts_of(about, cells, beside),
                   p.maps != nullptr ? p.maps(cells) : std::vector{table_of(about, cells)}});
  }
  return all;
}

}  // namespace assay::explore
