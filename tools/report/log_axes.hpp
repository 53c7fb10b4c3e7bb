// The two logarithmic axes of a chart, and how they are drawn: for the reports and for sweeps.
#pragma once

#include <string>
#include <string_view>

namespace assay::tools {

/// An axis between two whole exponents of its base: 10, or 2.
struct log_axis {
  double base, from, to;  ///< the exponents of the ends
  double start, end;      ///< their positions, in units of the view box
  /// The position of x > 0.
  [[nodiscard]] double position(double x) const;
  /// The step between labels, in exponents, that keeps them `apart`.
  [[nodiscard]] int step(double apart) const;
};

/// The area of the curves; the margins hold the labels. In units of the view box.
struct plot_frame {
  double left, right, top, bottom;
  /// The distance between the labels of the x axis.
  double apart;
};

/// The frame, a rule and a label at each whole exponent, and the titles of the axes. Colours come from the page's
/// style.
std::string drawn_axes(const plot_frame& frame, const log_axis& x, const log_axis& y, std::string_view x_label,
                       std::string_view y_label);

}  // namespace assay::tools
