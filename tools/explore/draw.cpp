#include "tools/explore/draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/report/escape.hpp"
#include "tools/report/log_axes.hpp"

namespace assay::explore {
namespace {

using tools::drawn_axes;
using tools::escape_markup;
using tools::log_axis;

// In units of the view box. The margins hold the labels; no points are drawn there.
constexpr double width = 420, left = 50, right = 408, top = 26, bottom = 236, legend_row = 16;
constexpr std::size_t colours = 8;

bool is_drawn(double x) { return std::isfinite(x) && x > 0.0; }

// Exponents of 10 of the drawn numbers.
struct exponents {
  double low = INFINITY, high = -INFINITY;
  void take(double x) {
    if (!is_drawn(x)) return;
    low = std::min(low, std::log10(x));
    high = std::max(high, std::log10(x));
  }
  /// Rounds outward to whole powers of ten, at least one decade.
  [[nodiscard]] log_axis settled(double start, double end) const {
    if (low > high) return {10, 0, 1, start, end};
    const double from = std::floor(low + 1e-9);
    return {10, from, std::max(std::ceil(high - 1e-9), from + 1), start, end};
  }
};

// Each colour also has a shape: colour alone never carries meaning.
std::string mark(std::size_t colour, double x, double y) {
  switch ((colour + colour / colours) % 4) {
    case 0:
      return fmt::format("M{:.1f} {:.1f}a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0z", x - 3.2, y);
    case 1:
      return fmt::format("M{:.1f} {:.1f}h5.8v5.8h-5.8z", x - 2.9, y - 2.9);
    case 2:
      return fmt::format("M{:.1f} {:.1f}l3.8 6.6h-7.6z", x, y - 4.2);
    default:
      return fmt::format("M{:.1f} {:.1f}l4 4l-4 4l-4 -4z", x, y - 4);
  }
}

std::string line_through(const std::vector<chart_point>& points, const log_axis& x, const log_axis& y) {
  std::string path;
  bool pen_down = false;
  for (const chart_point& p : points) {
    if (is_drawn(p.y) && is_drawn(p.x))
      path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", x.position(p.x), y.position(p.y));
    pen_down = is_drawn(p.y);
  }
  return path;
}

std::string drawn_series(const chart& c, const chart_series& s, std::size_t colour, const log_axis& x,
                         const log_axis& y) {
  std::string text =
      fmt::format("<g class=\"series c{}{}\" data-implementation=\"{}\" data-storage=\"{}\">\n", colour % colours,
                  s.beside ? " beside" : "", escape_markup(s.keys.implementation), escape_markup(s.keys.storage));
  if (const std::string law = line_through(s.law, x, y); !law.empty() && s.law.size() > 1)
    text += fmt::format("<path class=\"law\" d=\"{}\"/>\n", law);
  if (const std::string line = line_through(s.points, x, y); !line.empty())
    text += fmt::format("<path class=\"line\" d=\"{}\"/>\n", line);
  for (const chart_point& p : s.points) {
    if (!is_drawn(p.x)) continue;
    // A result that is no number of the format is a cross at the upper edge; an error of 0 is at the lower edge.
    const bool is_number = is_drawn(p.y);
    const double point_y = is_number ? y.position(p.y) : p.y == 0.0 ? bottom - 5 : top + 6;
    const std::string shape = is_number || p.y == 0.0
                                  ? mark(colour, x.position(p.x), point_y)
                                  : fmt::format("M{0:.1f} {1:.1f}l7 7m0 -7l-7 7", x.position(p.x) - 3.5, point_y - 3.5);
    text += fmt::format(
        "<path class=\"point{}\" d=\"{}\" data-x=\"{}\" data-y=\"{}\" data-cell=\"{}\"><title>{}: {} at {} "
        "{}</title></path>\n",
        is_number    ? ""
        : p.y == 0.0 ? " zero"
                     : " none",
        shape, p.x, p.y, escape_markup(p.cell), escape_markup(s.name),
        is_number || p.y == 0.0 ? shown(p.y) : "no number", escape_markup(c.x_label), shown(p.x));
  }
  return text + "</g>\n";
}

}  // namespace

std::string drawn(const chart& c) {
  exponents across, up;
  bool any_law = false;
  for (const chart_series& s : c.series) {
    for (const chart_point& p : s.points) across.take(p.x), up.take(p.y);
    any_law = any_law || s.law.size() > 1;
  }
  // Laws are drawn as far as they lie within four powers of ten of the measured values; all of them where no value was
  // measured.
  const double low = up.low, high = up.high;
  const bool has_values = low <= high;
  for (const chart_series& s : c.series)
    for (const chart_point& p : s.law)
      if (is_drawn(p.y)) up.take(has_values ? std::pow(10.0, std::clamp(std::log10(p.y), low - 4, high + 4)) : p.y);
  const log_axis x = across.settled(left + 10, right - 10), y = up.settled(bottom - 10, top + 12);

  std::vector<std::string> names;  // each name has one colour in both sweeps
  for (const chart_series& s : c.series)
    if (std::find(names.begin(), names.end(), s.name) == names.end()) names.push_back(s.name);
  const std::size_t entries = names.size() + (any_law ? 1 : 0), legend_rows = (entries + 1) / 2;
  const double height = bottom + 40 + legend_row * static_cast<double>(legend_rows);
  std::string s = fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {0} {1}\" role=\"img\" aria-labelledby=\"{2}-title\" id=\"{2}\">\n"
      "<title id=\"{2}-title\">{3} against {4}: {5}</title>\n<desc>{6} series; the values are in the table of all "
      "cells.</desc>\n",
      width, height, c.id, escape_markup(c.y_label), escape_markup(c.x_label), escape_markup(c.title), c.series.size());
  s += drawn_axes({left, right, top, bottom, 34}, x, y, c.x_label, c.y_label);
  s += fmt::format(
      "<clipPath id=\"{0}-clip\"><rect x=\"{1}\" y=\"{2}\" width=\"{3}\" height=\"{4}\"/></clipPath>\n<g "
      "clip-path=\"url(#{0}-clip)\">\n",
      c.id, left, top, right - left, bottom - top);
  const auto colour_of = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  for (const chart_series& series : c.series) s += drawn_series(c, series, colour_of(series.name), x, y);
  s += "</g>\n";
  std::size_t entry = 0;
  const auto place = [&](std::size_t ink, const std::string& shape, const std::string& words) {
    s += fmt::format("<g class=\"c{}\" transform=\"translate({} {})\">{}<text x=\"26\" y=\"3.5\">{}</text></g>\n", ink,
                     8 + 206 * static_cast<double>(entry % 2),
                     bottom + 46 + legend_row * static_cast<double>(entry / 2), shape, escape_markup(words));
    ++entry;
  };
  for (const std::string& name : names)
    place(colour_of(name) % colours,
          fmt::format("<path class=\"line\" d=\"M0 0H22\"/><path class=\"point\" d=\"{}\"/>",
                      mark(colour_of(name), 11, 0)),
          name);
  if (any_law) place(colours, "<path class=\"law\" d=\"M0 0H22\"/>", "predicted");
  return s + "</svg>\n";
}

// The colours are those of Okabe and Ito, "Color universal design" (2008), darkened or lightened for contrast.
std::string chart_style() {
  return R"css(.chart { --c0: #0072b2; --c1: #b34700; --c2: #007a58; --c3: #a0417b; --c4: #866000; --c5: #1d2126; --c6: #2c7fa8; --c7: #6d6d6d; --c8: #5a626b; }
.chart text { font: 10.5px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--soft, #5a626b); }
.chart .middle { text-anchor: middle; }
.chart .end { text-anchor: end; }
.frame { fill: none; stroke: var(--line, #d9dde1); }
.rule { stroke: var(--line, #d9dde1); stroke-width: .6; fill: none; }
.c0 { --ink: var(--c0); } .c1 { --ink: var(--c1); } .c2 { --ink: var(--c2); } .c3 { --ink: var(--c3); } .c4 { --ink: var(--c4); }
.c5 { --ink: var(--c5); } .c6 { --ink: var(--c6); } .c7 { --ink: var(--c7); } .c8 { --ink: var(--c8); }
.chart .line { fill: none; stroke: var(--ink); stroke-width: 1.3; }
.chart .law { fill: none; stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 5 4; }
.chart .point { fill: var(--ink); stroke: var(--ink); }
.chart .point.none { fill: none; stroke-width: 2; }
.chart .beside .point { fill: var(--card, #ffffff); }
.chart .beside .line { stroke-dasharray: 1.5 2; }
)css";
}

std::string standalone(const chart& c) {
  std::string svg = drawn(c);
  const std::string open = "<svg ";
  svg.replace(0, open.size(), "<svg xmlns=\"http://www.w3.org/2000/svg\" ");
  const std::size_t after = svg.find(">\n") + 2;
  svg.insert(after, "<style>" + chart_style() + "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + svg;
}

}  // namespace assay::explore
