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

std::size_t element_count(const shape& s);

/// "[2, 5, 3]"
std::string to_string(const shape& s);

/// The index of a flat position in row-major order, as text.
std::string index_text(const shape& s, std::size_t flat);

/// The distance between neighbours along an axis, in elements.
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
tensor unwritten(dtype type, const shape& s);

/// A tensor of zeros.
tensor zeros(dtype type, const shape& s);

/// A tensor of the given values, each rounded to `type`. Precondition: as many values as the shape holds.
tensor make_tensor(dtype type, const shape& s, const std::vector<double>& values);

/// Rounds every value to `type`.
tensor cast(dtype type, const tensor& t);

/// The given positions of one axis, in that order.
tensor take(const tensor& t, std::size_t axis, const std::vector<std::size_t>& positions);

/// The part [first, last) of one axis.
tensor slice(const tensor& t, std::size_t axis, std::size_t first, std::size_t last);

/// Same dtype, shape and bits; all NaNs count as the same, and so do the signed zeros.
bool identical(const tensor& a, const tensor& b);

/// Equal as values: NaN equals NaN, and the zeros equal one another.
bool same_value(double a, double b);

}  // namespace assay::core
