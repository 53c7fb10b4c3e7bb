// Hessian-vector products of the log-linear recurrence, hand-written: the derivative of the gradients of
// adjoint.hpp along a direction (da, dh, ds_0), at the cost of one more forward and one more reverse pass.
//
// With dz_i = da_i + ds_{i-1} - dh_i, dw_i = w_i v_i dz_i, and dgbar_i the derivative of the cotangent gbar_i (0 for a
// loss that is linear in s): dlambda_i = dgbar_i + dw_{i+1} lambda_{i+1} + w_{i+1} dlambda_{i+1},
//   log p_i: dw_i lambda_i + w_i dlambda_i,   h_i: v_i dlambda_i - dw_i lambda_i,   s_0: as log p_1.
//
// Where a state is -inf the weights are 0 or 1 as in the adjoint and dw_i = 0.
// Not for the allowance reading: the two terms of h_i cancel.
#pragma once

#include "reference/algorithms/adjoint.hpp"
#include "reference/algorithms/forward_derivative.hpp"

namespace assay::reference {

/// Cotangents of the states and of the last state.
template <class R>
struct scan_cotangents {
  const_lane<R> s;
  const R& last;
};

/// Inputs are a[n], h[n], s0, the states s[n], a direction, the derivatives ds[n] of the states along it
/// (scan_tangent), the cotangents and their derivatives along it. Writes the derivatives of the gradients.
template <class R>
void scan_hessian_product(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, scan_direction<R> d,
                          const_lane<R> ds, scan_cotangents<R> grad, scan_cotangents<R> d_grad,
                          scan_gradients<R> product) {
  R carry = grad.last, d_carry = d_grad.last;
  for (std::size_t i = s.size(); i-- > 0;) {
    const R lambda = grad.s[i] + carry, d_lambda = d_grad.s[i] + d_carry;
    const R t = a[i] + (i == 0 ? s0 : s[i - 1]);
    const bool no_past = is_minus_infinity(t), no_input = is_minus_infinity(h[i]);
    if (no_past || no_input) {
      carry = no_past ? R(0.0) : lambda;
      product.a[i] = no_past ? R(0.0) : d_lambda;
      product.h[i] = no_input ? R(0.0) : d_lambda;
    } else {
      const weight_pair<R> weight = sigmoid_form::weights(t, h[i], R(s[i]));
      const R dz = d.a[i] + (i == 0 ? d.s0 : ds[i - 1]) - d.h[i];
      const R moved = weight.w * weight.v * dz * lambda;
      carry = weight.w * lambda;
      product.a[i] = moved + weight.w * d_lambda;
      product.h[i] = weight.v * d_lambda - moved;
    }
    d_carry = product.a[i];
  }
  product.s0 = d_carry;
}

/// The same for the gate logit g of log p = log_sigmoid(g), from the gradient in log p and its derivative:
/// sigmoid(-g) d(grad_log_p) - grad_log_p p (1 - p) dg.
template <class R>
R gate_hessian_product(const R& g, const R& dg, const R& grad_log_p, const R& d_grad_log_p) {
  const weight_pair<R> p = carry_weights(g);
  return p.v * d_grad_log_p - grad_log_p * p.w * p.v * dg;
}

}  // namespace assay::reference
