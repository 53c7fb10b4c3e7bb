// Between tensors, which hold doubles, and the contiguous arrays of a number type that kernels read.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "reference/core/result.hpp"
#include "reference/core/tensor.hpp"

namespace assay::optimized {

/// The values of a tensor, in row-major order. Exact: a tensor of dtype f32 holds values of float.
template <class Real>
std::vector<Real> values_of(const core::tensors& inputs, const std::string& name) {
  const core::tensor& t = inputs.at(name);
  std::vector<Real> values(t.size());
  std::transform(t.values.begin(), t.values.end(), values.begin(), [](double x) { return static_cast<Real>(x); });
  return values;
}

template <class Real>
core::tensor tensor_of(const core::shape& shape, const std::vector<Real>& values) {
  core::tensor t = core::zeros(sizeof(Real) == sizeof(float) ? core::dtype::f32 : core::dtype::f64, shape);
  ASSAY_EXPECTS(t.size() == values.size());
  std::copy(values.begin(), values.end(), t.values.begin());
  return t;
}

/// f(Real{}) for the number type of a dtype. Precondition: f32 or f64.
template <class Function>
auto with_number_type(core::dtype type, Function f) {
  ASSAY_EXPECTS(type == core::dtype::f32 || type == core::dtype::f64);
  return type == core::dtype::f32 ? f(float{}) : f(double{});
}

}  // namespace assay::optimized
