#include "tools/explore/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tools/explore/asked_operation.hpp"
#include "tools/explore/heat_maps.hpp"
#include "tools/explore/measure.hpp"

namespace assay::explore {
namespace {

enum class x_axis { size, memory, decay };

// The contents of the charts of a measure: a result against an axis, with one chart for each value of the other axes.
struct chart_spec {
  const char *measure, *result, *law;
  x_axis axis;
  const char *x_label, *y_label;  ///< x null: the quantity with which errors of the operation grow
  bool one_chart_per_storage;
};
constexpr chart_spec specs[] = {
    {"scan", "rms", "law", x_axis::size, "tokens n", "error of s, root mean square", true},
    {"counter", "first_wrong", "law", x_axis::decay, "margin of the signs", "token of the first wrong sign", false},
    {"merging", "merged_at", "law", x_axis::memory, "1 / (1 - p)", "tokens until the states repeat", false},
    {"gradient", "median_log_p", "law", x_axis::size, "tokens n", "median relative error, d/d log p", true},
    {"gradient_reach", "ends_at", "law", x_axis::memory, "1 / (1 - p)", "tokens that a gradient reaches", false},
    {"conditioning", "response", "law", x_axis::memory, "1 / (1 - p)", "change of s / change of the input", false},
    {"error", "largest", "law", x_axis::size, nullptr, "largest error", false},
    {"sensitivity", "largest", nullptr, x_axis::size, nullptr, "largest change of an output", false},
    {"angles", "largest", "law", x_axis::size, "position", "largest error, radians", false}};

struct question_words {
  const char *measure, *title, *preset;
};
constexpr question_words titles[] = {
    {"scan", "How does the error grow with the length?", "growth"},
    {"running_sum", "When does a running sum stand still, and when does it overflow?", "overflow"},
    {"counter", "For how many tokens do the signs of a counter tell positions apart?", "separability"},
    {"merging", "For how many tokens does a constant input tell positions apart?", "separability"},
    {"gradient", "Which gradients are noise?", "gradient"},
    {"gradient_reach", "How far back does a gradient reach?", "gradient"},
    {"conditioning", "Which errors of the inputs does the recurrence amplify?", "conditioning"},
    {"error", "How many digits are left, and which stage must not be narrow?", "angles"},
    {"sensitivity", "What does a rounding of the inputs move?", "angles"},
    {"angles", "How many digits of an angle are left at a position, by scaling?", "angles"},
    {"repeats", "From which position on are neighbours the same?", "angles"}};

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
  if (spec.axis != x_axis::size && c.measure == "conditioning") words.push_back(fmt::format("{} tokens", c.size));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string series_words(const chart_spec& spec, const cell& c) {
  if (spec.one_chart_per_storage)
    return c.arithmetic == c.storage ? c.implementation : fmt::format("{}, {} inside", c.implementation, c.arithmetic);
  return fmt::format("{} {}", c.implementation, c.arithmetic == c.storage ? c.storage : c.arithmetic + ">" + c.storage);
}

void add_cells(const chart_spec& spec, const std::vector<measured_cell>& cells, bool beside,
               std::map<std::string, chart>& charts) {
  for (const measured_cell& m : cells) {
    if (m.what.measure != spec.measure) continue;
    const double x = place_on(spec.axis, m.what);
    if (!std::isfinite(x)) continue;
    const std::string common = common_words(spec, m.what), name = series_words(spec, m.what);
    chart& c = charts[common];
    if (c.series.empty()) {
      c.title = common;
      c.id = slug(fmt::format("{} {}", spec.measure, common));
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

std::vector<chart> charts_of(const chart_spec& spec, const std::vector<measured_cell>& cells,
                             const std::vector<measured_cell>& beside) {
  std::map<std::string, chart> charts;
  add_cells(spec, cells, false, charts);
  add_cells(spec, beside, true, charts);
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
    // Two lengths make no curve: the heat maps show them.
    if (places.size() >= 3 || (spec.axis != x_axis::size && places.size() == 2)) all.push_back(std::move(c));
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

std::vector<question> questions_of(const std::vector<measured_cell>& cells, const std::vector<measured_cell>& beside) {
  std::vector<question> all;
  for (const question_words& words : titles) {
    const std::string measure = words.measure;
    if (std::none_of(cells.begin(), cells.end(), [&](const measured_cell& m) { return m.what.measure == measure; }))
      continue;
    question q{measure, words.title, words.preset};
    q.sentences = sentences_of(measure, cells);
    for (const chart_spec& spec : specs)
      if (spec.measure == measure) q.charts = charts_of(spec, cells, beside);
    if (measure == "scan") {
      if (heat_map map = horizon_map(cells); !map.rows.empty()) q.maps.push_back(std::move(map));
      for (heat_map& map : digit_maps(cells)) q.maps.push_back(std::move(map));
    } else {
      q.maps.push_back(table_of(measure, cells));
    }
    all.push_back(std::move(q));
  }
  return all;
}

}  // namespace assay::explore
