#include "tools/report/svg_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/report/escape.hpp"
#include "tools/report/log_axes.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {
namespace {

using properties::check_result;
using properties::error_there;

// In units of the view box. The margins hold the labels; no points are drawn there.
constexpr double width = 360, left = 44, right = 350, top = 24, bottom = 184;
constexpr plot_frame frame{left, right, top, bottom, 38};

using growth = std::map<std::uint64_t, error_there>;

log_axis growth_axis(const growth& drawn) {
  const double first = std::log2(static_cast<double>(drawn.begin()->first));
  const double last = std::log2(static_cast<double>(drawn.rbegin()->first));
  return {2.0, first, std::max(last, first + 1), left + 8, right - 8};
}

bool is_drawn(double x) { return std::isfinite(x) && x > 0.0; }

// The laws that are drawn, with their names.
std::vector<std::pair<std::size_t, std::string_view>> drawn_laws(const check_result& c) {
  std::vector<std::pair<std::size_t, std::string_view>> all;
  for (const auto k : classes_of(c)) all.emplace_back(static_cast<std::size_t>(k), name_of(k));
  if (all.empty()) all.emplace_back(static_cast<std::size_t>(reference::one_algorithm), "its law");
  return all;
}

// The range holds 1 ulp and every error from 1e-6 ulp on. It holds the laws up to 1e4 times the largest of these.
log_axis error_axis(const check_result& c, const growth& drawn) {
  double low = 1.0, high = 1.0;
  for (const auto& [n, e] : drawn)
    if (is_drawn(e.largest_ulp)) low = std::min(low, e.largest_ulp), high = std::max(high, e.largest_ulp);
  const double reach = high * 1e4;
  for (const auto& [n, e] : drawn)
    for (const auto& [k, name] : drawn_laws(c))
      if (is_drawn(e.law_ulp[k])) high = std::max(high, std::min(e.law_ulp[k], reach));
  const double lowest = std::max(std::floor(std::log10(low) - 0.1), -6.0);
  return {10.0, lowest, std::max(std::ceil(std::log10(high) + 0.1), lowest + 1), bottom - 8, top + 8};
}

// The largest allowance of a class for the drawn elements up to each point. Allowances depend on the values of
// elements, not only on this axis, so they would jump up and down from point to point.
std::string law_line(const growth& drawn, std::size_t k, const log_axis& x, const log_axis& y) {
  std::string path;
  double most = 0;
  for (const auto& [n, e] : drawn) {
    most = std::max(most, e.law_ulp[k]);
    if (!(most > 0)) continue;
    // Far outside the frame a coordinate is clamped: the line leaves the frame anyway.
    const double law_y = std::clamp(y.position(most), -1000.0, 1000.0);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.position(static_cast<double>(n)), law_y);
  }
  if (drawn.size() == 1 && !path.empty()) path += "h24";  // one point makes no line, but shows a level
  return path.empty() ? "" : fmt::format("<path class=\"law law{}\" d=\"{}\"/>\n", k, path);
}

std::string cross(double x, double y) { return fmt::format("d=\"M{0:.1f} {1:.1f}l8 8m0 -8l-8 8\"", x - 4, y - 4); }

// A dot at the largest error; hollow and at the lower edge if this error is 0. A cross if one of the cases is a bug; at
// the upper edge if the error of the bug is not a number.
std::string point(std::uint64_t from, const error_there& e, const log_axis& x, const log_axis& y) {
  const double point_x = x.position(static_cast<double>(from));
  const double none = e.failed ? top + 8 : bottom - 4;
  const double point_y = is_drawn(e.largest_ulp) ? std::clamp(y.position(e.largest_ulp), top + 4, bottom - 4) : none;
  const std::string hint = fmt::format("from {} to {}: {:.3g} ulp, {} cases{}", from, e.farthest, e.largest_ulp,
                                       e.cases, e.failed ? ", one of them a bug" : "");
  const std::string data = fmt::format("data-from=\"{}\" data-ulp=\"{}\"", from, e.largest_ulp);
  if (e.failed)
    return fmt::format("<path class=\"point bug\" {} {}><title>{}</title></path>\n", data, cross(point_x, point_y),
                       hint);
  return fmt::format("<circle class=\"point{}\" {} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}</title></circle>\n",
                     e.largest_ulp > 0.0 ? "" : " zero", data, point_x, point_y, hint);
}

std::string legend(const check_result& c, bool any_bug) {
  constexpr double column = 104, row = 16, first_row = bottom + 48;
  std::size_t entry = 0;
  std::string s;
  const auto place = [&](const std::string& mark, std::string_view words) {
    const double x = 8 + column * static_cast<double>(entry % 3), y = first_row + row * static_cast<double>(entry / 3);
    s += fmt::format("<g transform=\"translate({} {})\">{}<text x=\"26\" y=\"3.5\">{}</text></g>\n", x, y, mark, words);
    ++entry;
  };
  place("<circle class=\"dot\" cx=\"11\" cy=\"0\" r=\"3.5\"/>", "largest error");
  for (const auto& [k, name] : drawn_laws(c)) place(fmt::format("<path class=\"law law{}\" d=\"M0 0H22\"/>", k), name);
  if (any_bug) place("<path class=\"bug\" " + cross(11, 0) + "/>", "a bug");
  return s;
}

}  // namespace

bool has_chart(const check_result& c) { return c.checked->decides_class && !drawn_growth(c).empty(); }

std::string error_chart(const check_result& c, const std::string& id) {
  const growth drawn = drawn_growth(c);
  const log_axis x = growth_axis(drawn), y = error_axis(c, drawn);
  const bool any_bug = std::any_of(drawn.begin(), drawn.end(), [](const auto& entry) { return entry.second.failed; });
  double largest_ulp = 0;
  for (const auto& [n, e] : drawn) largest_ulp = std::max(largest_ulp, e.largest_ulp);
  std::string s = fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {0} {1}\" role=\"img\" aria-labelledby=\"{2}-title {2}-text\">\n"
      "<title id=\"{2}-title\">Largest error of {3} in {4} against the {9}</title>\n"
      "<desc id=\"{2}-text\">With the {9} from {5} to {6} the largest error is {7:.3g} ulp; {8}.</desc>\n",
      width, bottom + (any_bug ? 90 : 74), id, escape_markup(c.operation->name), core::name_of(c.type),
      drawn.begin()->first, drawn.rbegin()->second.farthest, largest_ulp,
      any_bug ? "a case no law explains is a bug"
              : "the lines are the most that the law of each class has allowed up to there",
      escape_markup(c.operation->grows_with->quantity));
  s += drawn_axes(frame, x, y, c.operation->grows_with->quantity,
                  fmt::format("largest error, ulp of {}", scale_words(*c.operation)));
  s += fmt::format("<clipPath id=\"{}-clip\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n", id,
                   left, top, right - left, bottom - top);
  s += fmt::format("<g clip-path=\"url(#{}-clip)\">\n", id);
  const auto laws = drawn_laws(c);
  for (auto law = laws.rbegin(); law != laws.rend(); ++law) s += law_line(drawn, law->first, x, y);
  s += "</g>\n";
  for (const auto& [n, e] : drawn) s += point(n, e, x, y);
  return s + legend(c, any_bug) + "</svg>\n";
}

}  // namespace assay::tools
