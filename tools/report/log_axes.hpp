// The two logarithmic axes of a chart, and what is drawn of them: for the reports and for sweeps.
#pragma once

#include <string>
#include <string_view>

namespace assay::tools {

/// An axis between two whole exponents of its base: 10, or 2.
struct log_axis {
  double base, from, to;  ///< the exponents of the ends
  double start, end;      ///< where they lie, in units of the view box
  /// Where x > 0 lies.
  [[nodiscard]] double at(double x) const;
  /// The step between labels, in exponents, that keeps them `apart`.
  [[nodiscard]] int step(double apart) const;
};

/// Where curves are drawn: the margins hold the labels. In units of the view box.
struct plot_frame {
  double left, right, top, bottom;
  /// Between the labels of the x axis.
  double apart;
};

/// The frame, a rule and a label at the whole exponents, and what the axes are of. Colours come from the page's style.
std::string drawn_axes(const plot_frame& frame, const log_axis& x, const log_axis& y, std::string_view x_label,
                       std::string_view y_label);

}  // namespace assay::tools
