#include "properties/laws/row_constants.hpp"

#include <fmt/format.h>

#include <cmath>

namespace assay::properties {
namespace {

struct scores {
  const std::vector<double>& allowed;
  const core::tensor& t;
  scores(const measured_call& call, const std::string& output)
      : allowed(call.allowed.at(output)), t(call.outputs.at(output)) {}
  double operator[](std::size_t i) const { return t.values.storage()[i]; }
};

}  // namespace

std::optional<std::string> compare_modulo_row_constants(const std::string& output, const measured_call& expected,
                                                        const measured_call& actual) {
  comparisons uncounted;
  return compare_modulo_row_constants(uncounted, output, expected, actual);
}

std::optional<std::string> compare_modulo_row_constants(comparisons& all, const std::string& output,
                                                        const measured_call& expected, const measured_call& actual) {
  const scores x(expected, output), y(actual, output);
  ASSAY_EXPECTS(x.t.shape() == y.t.shape() && !x.t.shape().empty());
  const std::size_t keys = x.t.shape().back();
  std::size_t first = 0;  // the first finite element of the row
  bool found = false;
  for (std::size_t i = 0; i < x.t.size(); ++i) {
    if (i % keys == 0) found = false;
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) {
      if (all.agree(x[i], y[i], 0.0)) continue;
      return fmt::format("{}{}: {} became {}", output, core::index_text(x.t.shape(), i), x[i], y[i]);
    }
    if (!found) {
      found = true;
      first = i;
    }
    const double before = x[i] - x[first], after = y[i] - y[first];
    const double rounding = 0x1p-52 * (std::fabs(before) + std::fabs(after));
    const double allowed = x.allowed[i] + x.allowed[first] + y.allowed[i] + y.allowed[first] + rounding;
    if (!all.agree(before, after, allowed))
      return fmt::format("{}{}: above the row's first by {:.9g}, then by {:.9g}, allowed difference {:.3g}", output,
                         core::index_text(x.t.shape(), i), before, after, allowed);
  }
  return std::nullopt;
}

}  // namespace assay::properties
