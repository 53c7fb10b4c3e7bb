// Tensors as they travel through Assay: a dtype, and values held as doubles in row-major order.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>
#include <xtensor/xarray.hpp>

#include "reference/core/dtype.hpp"

namespace assay::core {

using shape = std::vector<std::size_t>;

///     const std::size_t count = core::element_count({2, 3, 4});  // 24
std::size_t element_count(const shape& s);

/// "[2, 5, 3]"
///
///     std::cout << core::to_string(x.shape());
std::string to_string(const shape& s);

/// The index of a flat position in row-major order, as text.
///
///     std::cout << core::index_text({2, 3}, 4);  // [1, 1]
std::string index_text(const shape& s, std::size_t flat);

/// The distance between neighbours along an axis, in elements.
///
///     const std::size_t of_rows = core::stride_of({2, 3, 4}, 1);  // 4
std::size_t stride_of(const shape& s, std::size_t axis);

/// Invariant: every value is a value of `type` (round_to(type, x) == x, or NaN). Integers are exact
/// up to 2^53; readers refuse larger ones. The last axis is contiguous.
struct tensor {
  dtype type = dtype::f64;
  xt::xarray<double> values;

  [[nodiscard]] core::shape shape() const { return {values.shape().begin(), values.shape().end()}; }
  [[nodiscard]] std::size_t size() const { return values.size(); }
};

/// Tensors by name, in the order of their names.
using tensors = std::map<std::string, tensor>;

/// A tensor whose values are still to be written.
///
///     core::tensor x = core::unwritten(core::dtype::f64, {2, 3});
///     std::iota(x.values.begin(), x.values.end(), 0.0);
tensor unwritten(dtype type, const shape& s);

/// A tensor of zeros.
///
///     core::tensors inputs{{"scores", core::zeros(core::dtype::f32, {heads, queries, keys})}};
tensor zeros(dtype type, const shape& s);

/// A tensor of the given values, each rounded to `type` if this is a floating-point dtype. Preconditions: as many
/// values as the shape holds; for an integer dtype, values of that dtype.
///
///     const core::tensor slopes = core::make_tensor(core::dtype::f32, {2, 1, 1}, {0.5, 0.25});
tensor make_tensor(dtype type, const shape& s, const std::vector<double>& values);

/// Rounds every value to `type`.
///
///     const core::tensor in_bf16 = core::cast(core::dtype::bf16, x);
tensor cast(dtype type, const tensor& t);

/// The given positions of one axis, in that order.
///
///     const core::tensor reversed = core::take(x, 1, {2, 1, 0});
tensor take(const tensor& t, std::size_t axis, const std::vector<std::size_t>& positions);

/// The part [first, last) of one axis.
///
///     const core::tensor later = core::slice(x, 1, 1, 3);  // all but the first column of [2, 3]
tensor slice(const tensor& t, std::size_t axis, std::size_t first, std::size_t last);

/// Same dtype, shape and bits; all NaNs count as the same, and so do the signed zeros.
///
///     if (!core::identical(first_run, second_run)) std::cerr << "other bits\n";
bool identical(const tensor& a, const tensor& b);

/// Equal as values: NaN equals NaN, and the zeros equal one another.
///
///     const bool is_right = core::same_value(x, std::numeric_limits<double>::quiet_NaN());
bool same_value(double a, double b);

}  // namespace assay::core
