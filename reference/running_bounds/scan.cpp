#include "reference/running_bounds/scan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/running_bounds/dispatch.hpp"

namespace assay::reference::running {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

target_format target_of(core::dtype type) {
  return {core::smallest_normal(type), core::largest_finite(type), 2.0 * core::unit_roundoff(type),
          type == core::dtype::f64};
}

rung_output empty_output(core::dtype type, const core::shape& s) {
  const auto numbers = [&] { return xt::xarray<double>::from_shape(s); };
  const std::size_t size = core::element_count(s);
  return {{type, numbers()}, numbers(), numbers(), std::vector<std::uint8_t>(size), std::vector<std::uint8_t>(size)};
}

bounded_field field_of(rung_output& o) { return {o.rounded.values.data(), o.low.data(), o.radius.data()}; }

// Whether the kernels say anything about a lane that holds x.
bool is_bounded(double x, double lowest) { return std::fabs(x) < largest_input || x == lowest; }

// One lane alone waits for itself at every step: balls of one double are as fast.
bool is_worth_while(const lanes_shape& s, doubles of_number) {
  return s.tokens > 0 && s.batch * s.features > (of_number == doubles::one ? 1u : 0u);
}

// By lane, of tensors [batch, tokens, features] and [batch, features]: 1 where it holds an input that is not bounded.
class excluded_lanes {
 public:
  explicit excluded_lanes(const lanes_shape& s) : shape_(s), excluded_(s.batch * s.features, 0) {}
  /// -inf is bounded in all tensors but cotangents.
  void look_at(const core::tensor& t, double lowest = -infinity) {
    const auto& x = t.values.storage();
    if (kernels().are_bounded(x.data(), x.size(), lowest)) return;
    any_ = true;
    const std::size_t tokens = t.values.dimension() == 3 ? shape_.tokens : 1, row = tokens * shape_.features;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!is_bounded(x[i], lowest)) excluded_[i / row * shape_.features + i % shape_.features] = 1;
  }
  /// Of an output [batch, tokens, features].
  void leave_out(rung_output& o, std::size_t tokens) const {
    const std::size_t row = tokens * shape_.features;
    for (std::size_t i = 0; any_ && i < o.low.size(); ++i)
      if (excluded_[i / row * shape_.features + i % shape_.features] != 0) {
        o.rounded.values.storage()[i] = o.low.storage()[i] = 0.0;
        o.radius.storage()[i] = -infinity;
      }
  }

 private:
  lanes_shape shape_;
  std::vector<std::uint8_t> excluded_;
  bool any_ = false;
};

void mark_decided(rung_output& o) { kernels().settle(o.radius.data(), o.decided.data(), o.decided.size()); }

// The states after the last of at least one token.
rung_output last_token(const rung_output& s, const lanes_shape& shape) {
  rung_output last = empty_output(s.rounded.type, {shape.batch, shape.features});
  for (std::size_t k = 0; k < last.decided.size(); ++k) {
    const std::size_t b = k / shape.features, j = k % shape.features;
    const std::size_t i = ((b + 1) * shape.tokens - 1) * shape.features + j;
    last.rounded.values.storage()[k] = s.rounded.values.storage()[i];
    last.low.storage()[k] = s.low.storage()[i];
    last.radius.storage()[k] = s.radius.storage()[i];
    last.decided[k] = s.decided[i];
  }
  return last;
}

const kernels_of_arithmetic& kernels_of(doubles of_number) {
  return of_number == doubles::one ? kernels().in_doubles : kernels().in_two_doubles;
}

}  // namespace

rung_outputs bound_scan(const core::request& call, doubles of_number) {
  const core::tensor &a = call.inputs.at("log_p"), &h = call.inputs.at("h"), &s0 = call.inputs.at("s0");
  const core::shape whole = a.shape();
  const lanes_shape shape{whole[0], whole[1], whole[2]};
  if (!is_worth_while(shape, of_number)) return {};
  excluded_lanes excluded(shape);
  for (const core::tensor* t : {&a, &h, &s0}) excluded.look_at(*t);
  rung_output s = empty_output(call.type, whole);
  kernels_of(of_number).scan(
      {shape, a.values.data(), h.values.data(), s0.values.data(), target_of(call.type), field_of(s)});
  excluded.leave_out(s, shape.tokens);
  mark_decided(s);
  rung_output last = last_token(s, shape);
  rung_outputs out;
  out.emplace("s", std::move(s));
  out.emplace("s_n", std::move(last));
  return out;
}

rung_outputs bound_scan_vjp(const core::request& call, doubles of_number) {
  const core::tensor &a = call.inputs.at("log_p"), &h = call.inputs.at("h"), &s0 = call.inputs.at("s0");
  const core::tensor &grad_s = call.inputs.at("grad_s"), &grad_s_n = call.inputs.at("grad_s_n");
  const core::shape whole = a.shape();
  const lanes_shape shape{whole[0], whole[1], whole[2]};
  if (!is_worth_while(shape, of_number)) return {};
  excluded_lanes excluded(shape);
  for (const core::tensor* t : {&a, &h, &s0}) excluded.look_at(*t);
  for (const core::tensor* t : {&grad_s, &grad_s_n}) excluded.look_at(*t, 0.0);
  rung_outputs out;
  for (const char* name : {"grad_log_p", "grad_h"}) out.emplace(name, empty_output(call.type, whole));
  out.emplace("grad_s0", empty_output(call.type, s0.shape()));
  kernels_of(of_number).adjoint({shape, a.values.data(), h.values.data(), s0.values.data(), grad_s.values.data(),
                                 grad_s_n.values.data(), target_of(call.type), field_of(out.at("grad_log_p")),
                                 field_of(out.at("grad_h")), field_of(out.at("grad_s0"))});
  for (auto& [name, o] : out) {
    excluded.leave_out(o, o.low.dimension() == 3 ? shape.tokens : 1);
    mark_decided(o);
  }
  return out;
}

}  // namespace assay::reference::running
