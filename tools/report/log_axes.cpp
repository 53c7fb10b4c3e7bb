#include "tools/report/log_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/report/escape.hpp"
#include "tools/report/power_of_ten.hpp"

namespace assay::tools {
namespace {

std::string label_of(const log_axis& a, int exponent) {
  return a.base == 10.0 ? power_of_ten(exponent) : fmt::format("{}", std::pow(a.base, exponent));
}

}  // namespace

double log_axis::position(double x) const {
  const double exponent = std::log(x) / std::log(base);
  return start + (exponent - from) / (to - from) * (end - start);
}

int log_axis::step(double apart) const {
  return std::max(1, static_cast<int>(std::ceil(apart * (to - from) / std::fabs(end - start))));
}

std::string drawn_axes(const plot_frame& frame, const log_axis& x, const log_axis& y, std::string_view x_label,
                       std::string_view y_label) {
  const auto& [left, right, top, bottom, apart] = frame;
  constexpr double rows_apart = 17;
  std::string s = fmt::format("<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", left, top,
                              right - left, bottom - top);
  for (int e = static_cast<int>(x.from); e <= static_cast<int>(x.to); e += x.step(apart))
    s += fmt::format(
        "<path class=\"rule\" d=\"M{0:.1f} {1}V{2}\"/><text x=\"{0:.1f}\" y=\"{3}\" class=\"middle\">{4}</text>\n",
        x.position(std::pow(x.base, e)), top, bottom, bottom + 13, label_of(x, e));
  for (int e = static_cast<int>(y.from); e <= static_cast<int>(y.to); e += y.step(rows_apart)) {
    const double label_y = y.position(std::pow(y.base, e));
    s += fmt::format(
        "<path class=\"rule\" d=\"M{0} {1:.1f}H{2}\"/><text x=\"{3}\" y=\"{4:.1f}\" class=\"end\">{5}</text>\n", left,
        label_y, right, left - 4, label_y + 3.5, label_of(y, e));
  }
  s += fmt::format("<text x=\"{}\" y=\"{}\" class=\"middle\">{}</text>\n", (left + right) / 2, bottom + 28,
                   escape_markup(x_label));
  return s + fmt::format("<text x=\"2\" y=\"{}\">{}</text>\n", top - 10, escape_markup(y_label));
}

}  // namespace assay::tools
