// Code that the tests of the C API share: C arrays over vectors, and a problem with all its arrays.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "optimized/c_api/assay_scan.h"
#include "optimized/c_api/checked_arguments.hpp"
#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {

/// A dense array of the C API with these sizes.
template <class Array, class T>
Array c_array(T* data, std::vector<std::size_t> sizes) {
  Array a{data, c_api::dtype_code<std::remove_const_t<T>>, static_cast<std::int32_t>(sizes.size()), {}, {}};
  std::int64_t step = 1;
  for (std::size_t k = sizes.size(); k-- > 0; step *= a.size[k]) {
    a.size[k] = static_cast<std::int64_t>(sizes[k]);
    a.stride[k] = step;
  }
  return a;
}

/// The arguments of the C functions over the arrays of a problem. All arrays are present.
template <class Real>
struct c_call {
  assay_scan_inputs in;
  assay_scan_outputs out;
  assay_scan_cotangents cotangents;
  assay_scan_gradients gradients;
  assay_scan_execution on{};
  std::array<char, 200> message{};
  bool gated;

  explicit c_call(scan_problem<Real>& p) : gated(p.gated) {
    const auto [B, n, d] = p.shape;
    const auto read = [&, B = B, n = n, d = d](const std::vector<Real>& v, bool state) {
      return c_array<assay_const_array>(v.data(), state ? std::vector{B, d} : std::vector{B, n, d});
    };
    const auto written = [&, B = B, n = n, d = d](std::vector<Real>& v, bool state) {
      return c_array<assay_array>(v.data(), state ? std::vector{B, d} : std::vector{B, n, d});
    };
    in = {read(p.decay, false), read(p.h, false), read(p.s0, true), {}};
    if (!p.s0_low.empty()) in.s0_low = read(p.s0_low, true);
    out = {written(p.s, false), written(p.s_n, true), written(p.s_n_low, true)};
    cotangents = {read(p.s, false), read(p.grad_s, false), read(p.grad_s_n, true)};
    gradients = {written(p.grad_decay, false), written(p.grad_h, false), written(p.grad_s0, true)};
    on.message = message.data();
    on.message_size = message.size();
  }
  int forward() { return (gated ? assay_gated_scan : assay_scan)(&on, &in, &out); }
  int backward() { return (gated ? assay_gated_scan_vjp : assay_scan_vjp)(&on, &in, &cotangents, &gradients); }
  [[nodiscard]] std::string said() const { return message.data(); }
};

/// Makes both calls; both must succeed.
template <class Real>
void run_in_c(scan_problem<Real>& p, const char* target = nullptr, int threads = 0) {
  c_call<Real> call(p);
  call.on.target = target;
  call.on.threads = threads;
  const int forward = call.forward();
  INFO(call.said());
  REQUIRE(forward == ASSAY_SCAN_OK);
  const int backward = call.backward();
  INFO(call.said());
  REQUIRE(backward == ASSAY_SCAN_OK);
}

}  // namespace assay::optimized::tests
