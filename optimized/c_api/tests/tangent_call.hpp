// The arguments of the C functions with a direction, over the arrays of a problem. All arrays are present.
#pragma once

#include "optimized/c_api/tests/support.hpp"
#include "optimized/tests/tangent_problem.hpp"

namespace assay::optimized::tests {

template <class Real>
struct c_tangent_call : c_call<Real> {
  assay_scan_direction direction;
  assay_scan_tangents tangents;

  explicit c_tangent_call(tangent_problem<Real>& p) : c_call<Real>(p) {
    const auto [B, n, d] = p.shape;
    const std::vector elements{B, n, d}, states{B, d};
    const auto read = [](const std::vector<Real>& v, const std::vector<std::size_t>& sizes) {
      return c_array<assay_const_array>(v.data(), sizes);
    };
    const auto written = [](std::vector<Real>& v, const std::vector<std::size_t>& sizes) {
      return c_array<assay_array>(v.data(), sizes);
    };
    direction = {read(p.d_decay, elements), read(p.dh, elements), read(p.ds0, states), {}};
    if (!p.ds0_low.empty()) direction.tangent_s0_low = read(p.ds0_low, states);
    tangents = {written(p.ds, elements), written(p.ds_n, states), written(p.ds_n_low, states)};
  }
  int push() {
    return (this->gated ? assay_gated_scan_jvp : assay_scan_jvp)(&this->on, &this->in, &direction, &this->out,
                                                                 &tangents);
  }
};

}  // namespace assay::optimized::tests
