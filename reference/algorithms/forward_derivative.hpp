// The directional derivative of the log-linear recurrence, hand-written, for every reading.
//
// Along (da, dh, ds_0):  ds_i = w_i (da_i + ds_{i-1}) + v_i dh_i,
// where w_i = exp(a_i + s_{i-1} - s_i) is the carry weight, and v_i = exp(h_i - s_i) = 1 - w_i.
//
// Where a state is -inf, as in the adjoint: s_i = -inf -> ds_i = 0; h_i = -inf, s_i finite -> w_i = 1,
// v_i = 0; a_i + s_{i-1} = -inf, h_i finite -> w_i = 0, v_i = 1. No tokens: the derivative of the last state
// is ds_0, whatever s_0 is.
#pragma once

#include <vector>

#include "reference/algorithms/adjoint.hpp"
#include "reference/algorithms/scans.hpp"

namespace assay::reference {

/// A direction in the inputs of one lane: da[n], dh[n], ds_0.
template <class R>
struct scan_direction {
  const_lane<R> a, h;
  const R& s0;
};

/// The derivative of s = log_sum_exp(t, h) along (dt, dh).
template <class Form, class R>
R tangent_of_step(const R& t, const R& h, const R& s, const R& dt, const R& dh) {
  const bool no_past = is_minus_infinity(t), no_input = is_minus_infinity(h);
  if (no_past) return no_input ? R(0.0) : dh;
  if (no_input) return Form::weighted_alone(dt, t, s);
  const weight_pair<R> weight = Form::weights(t, h, s);
  return weight.w * dt + weight.v * dh;
}

/// One step after another. Inputs are a[n], h[n], s0, the states s[n] and a direction. Writes ds[n]. `Form` as in the
/// adjoint.
template <class Form, class R>
void scan_tangent(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, scan_direction<R> d, lane<R> ds) {
  R carried = by_magnitude(d.s0);
  for (std::size_t i = 0; i < ds.size(); ++i) {
    const R t = a[i] + (i == 0 ? s0 : s[i - 1]);
    const R dt = by_magnitude(d.a[i]) + carried;
    carried = ds[i] = tangent_of_step<Form>(t, h[i], R(s[i]), dt, by_magnitude(d.h[i]));
  }
}

/// The map s -> LSE(decay + s, input) and its derivative along a direction. Automatic differentiation of a tree scan
/// computes this. Composition is as for affine_step.
template <class Form, class R>
struct dual_step {
  affine_step<R> step;
  R d_decay, d_input;
  friend dual_step then(const dual_step& first, const dual_step& second) {
    const affine_step<R> both = then(first.step, second.step);
    const R t = first.step.input + second.step.decay;
    return {both, first.d_decay + second.d_decay,
            tangent_of_step<Form>(t, second.step.input, both.input, R(first.d_input + second.d_decay), second.d_input)};
  }
};

/// The elements of a tree. The derivative of the first state enters, like the state, as an element before the first.
template <class Form, class R>
std::vector<dual_step<Form, R>> dual_elements(const_lane<R> a, const_lane<R> h, const R& s0, scan_direction<R> d) {
  std::vector<dual_step<Form, R>> elements{{{R(0.0), s0}, R(0.0), by_magnitude(d.s0)}};
  for (std::size_t i = 0; i < a.size(); ++i)
    elements.push_back({{a[i], h[i]}, by_magnitude(d.a[i]), by_magnitude(d.h[i])});
  return elements;
}

/// A balanced tree over states and derivatives together; the states passed in are not used.
template <class Form, class R>
void balanced_tree_tangent(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R>, scan_direction<R> d,
                           lane<R> ds) {
  const auto prefixes = balanced_prefixes(dual_elements<Form>(a, h, s0, d));
  for (std::size_t i = 0; i < ds.size(); ++i) ds[i] = prefixes[i + 1].d_input;
}

/// The map ds -> weight ds + offset. The earlier element stands on the left; the identity is (1, 0).
template <class R>
struct linear_step {
  R weight, offset;
  friend linear_step then(const linear_step& first, const linear_step& second) {
    return {first.weight * second.weight, second.weight * first.offset + second.offset};
  }
};

/// The recurrence of ds, with the states known, as elements for a tree: w_i and w_i da_i + v_i dh_i.
template <class Form, class R>
std::vector<linear_step<R>> linear_elements(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s,
                                            scan_direction<R> d) {
  std::vector<linear_step<R>> elements{{R(0.0), by_magnitude(d.s0)}};
  for (std::size_t i = 0; i < a.size(); ++i) {
    const R t = a[i] + (i == 0 ? s0 : s[i - 1]);
    const bool no_past = is_minus_infinity(t), no_input = is_minus_infinity(h[i]);
    elements.push_back({no_past    ? R(0.0)
                        : no_input ? Form::weight_alone(t, R(s[i]))
                                   : Form::weights(t, h[i], R(s[i])).w,
                        tangent_of_step<Form>(t, h[i], R(s[i]), by_magnitude(d.a[i]), by_magnitude(d.h[i]))});
  }
  return elements;
}

/// A balanced tree over the recurrence of ds alone.
template <class Form, class R>
void balanced_linear_tangent(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, scan_direction<R> d,
                             lane<R> ds) {
  const auto prefixes = balanced_prefixes(linear_elements<Form>(a, h, s0, s, d));
  for (std::size_t i = 0; i < ds.size(); ++i) ds[i] = prefixes[i + 1].offset;
}

/// The derivative of the cumsum form: with L_i = s_i - A_i, dL_i = w_i dL_{i-1} + v_i (dh_i - dA_i) and
/// ds_i = dL_i + dA_i. dA cancels, as A does in the states. No answer at a = -inf (NaN).
template <class R>
void cumsum_tangent(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R>, scan_direction<R> d, lane<R> ds) {
  inclusive_sum<R> sum, d_sum;
  R relative = s0, d_relative = d.s0;
  for (std::size_t i = 0; i < ds.size(); ++i) {
    sum.add(a[i]);
    d_sum.add(d.a[i]);
    const R past = sum.carry(relative), input = sum.enter(h[i]);
    relative = log_sum_exp(past, input);
    d_relative = tangent_of_step<exp_form>(past, input, relative, d_sum.carry(d_relative), d_sum.enter(d.h[i]));
    ds[i] = is_minus_infinity(relative) ? R(0.0) : d_sum.leave(d_relative);
  }
}

}  // namespace assay::reference
