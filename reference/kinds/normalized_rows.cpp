#include "reference/kinds/normalized_rows.hpp"

namespace assay::reference {

using formula::traced;

traced dot_of_rows(square_norm norm, const traced& x, const traced& y) {
  core::shape one = shape_of(x);
  const auto width = formula::traced_integer::constant(static_cast<std::int64_t>(one.back()));
  one.back() = 1;
  const traced sum = reshaped(contracted(x, y, "abcd,abcd->abc"), one);
  return norm == square_norm::sum ? sum : sum / index_number(width);
}

traced over_root(square_norm norm, const traced& x, const traced& epsilon, bool is_of_gradient) {
  const std::size_t count = norm == square_norm::sum ? 1 : shape_of(x).back();
  const traced r = reciprocal_root(dot_of_rows(norm, x, x) + epsilon, count), y = x * r;
  if (!is_of_gradient) return y;
  const traced y_without_slope = detach(y), dx = x * detach(r);
  return with_gradient_of(y, dx - y_without_slope * dot_of_rows(norm, y_without_slope, dx));
}

}  // namespace assay::reference
