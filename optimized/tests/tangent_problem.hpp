// Code that the tests of derivatives along a direction share.
#pragma once

#include <span>
#include <utility>

#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {

/// A scan, and a direction in its inputs.
template <class Real>
struct tangent_problem : scan_problem<Real> {
  std::vector<Real> d_decay, dh, ds0, ds0_low;  // ds0_low may be empty: absent
  std::vector<Real> ds, ds_n, ds_n_low;

  tangent_problem(scan_sizes sizes, bool is_gated, std::uint64_t seed = 1) : scan_problem<Real>(sizes, is_gated, seed) {
    generator random(seed + 100);
    d_decay = uniform<Real>(random, this->h.size(), -1, 1);
    dh = uniform<Real>(random, this->h.size(), -1, 1);
    ds0 = uniform<Real>(random, this->s0.size(), -1, 1);
    ds.resize(this->h.size()), ds_n.resize(this->s0.size()), ds_n_low.resize(this->s0.size());
  }

  void push(std::span<std::byte> workspace = {}) {
    const execution on{&active_kernels(), threads(), workspace};
    const auto& in = std::as_const(*this);
    const heinsen::scan_direction<Real> direction{this->elements(in.d_decay), this->elements(in.dh),
                                                  this->states(in.ds0), this->states(in.ds0_low)};
    const heinsen::scan_outputs<Real> states{this->elements(this->s), this->states(this->s_n),
                                             this->states(this->s_n_low)};
    const heinsen::scan_tangents<Real> out{this->elements(ds), this->states(ds_n), this->states(ds_n_low)};
    this->gated ? heinsen::gated_scan_jvp<Real>(on, this->inputs(), direction, states, out)
                : heinsen::scan_jvp<Real>(on, this->inputs(), direction, states, out);
  }
};

template <class Real>
bool same_tangents(const tangent_problem<Real>& a, const tangent_problem<Real>& b) {
  return same_bits(a.s, b.s) && same_bits(a.s_n, b.s_n) && same_bits(a.s_n_low, b.s_n_low) && same_bits(a.ds, b.ds) &&
         same_bits(a.ds_n, b.ds_n) && same_bits(a.ds_n_low, b.ds_n_low);
}

}  // namespace assay::optimized::tests
