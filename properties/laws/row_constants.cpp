#include "properties/laws/row_constants.hpp"

#include <fmt/format.h>

#include <cmath>

#include "properties/laws/approximate.hpp"

namespace assay::properties {

std::optional<std::string> compare_modulo_row_constants(comparisons& all, const std::string& output,
                                                        const measured_call& expected, const measured_call& actual) {
  const numbers x(expected, output), y(actual, output);
  ASSAY_EXPECTS(x.shape == y.shape && !x.shape.empty());
  const std::size_t keys = x.shape.back();
  std::size_t first = 0;  // the first finite element of the row
  bool found = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % keys == 0) found = false;
    if (!std::isfinite(x.x[i]) || !std::isfinite(y.x[i])) {
      if (all.agree(x.x[i], y.x[i], 0.0)) continue;
      return fmt::format("{}{}: {} became {}", output, core::index_text(x.shape, i), x.x[i], y.x[i]);
    }
    if (!found) first = i;
    found = true;
    const approximate before = x[i] - x[first], after = y[i] - y[first];
    if (!agree(all, before, after))
      return fmt::format("{}{}: above the row's first by {:.9g}, then by {:.9g}, allowed difference {:.3g}", output,
                         core::index_text(x.shape, i), before.value, after.value, before.error + after.error);
  }
  return std::nullopt;
}

}  // namespace assay::properties
