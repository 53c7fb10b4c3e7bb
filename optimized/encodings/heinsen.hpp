// The log-linear position encoding on arrays [Heinsen 2024, eqs. (1), (3)].
//
//   s_i = log(e^(log p_i + s_{i-1}) + e^(h_i)),  i = 1..n,  for each sequence and each feature alone.
//
// A call reads and writes views and uses the means that its execution names. Outputs overlap neither inputs nor each
// other. Views with a wrong shape are contract violations. Every value of an element has a defined result
// (kernels/scan_rows.ipp, scan_vjp.ipp and scan_jvp.ipp state special values, order of operations and bounds).
//
// Real is float, double, bfloat16 or float16. 16-bit arrays of tokens are widened, computed like floats, and rounded
// once. Their states and all numbers that are handed on are floats.
//
// Results do not depend on the number of threads. Scans, and all operations that contain a scan, differ between
// instruction sets in their last bits, because fused operations and tables of powers of two are used where they exist.
#pragma once

#include <cstddef>

#include "optimized/dispatch.hpp"
#include "optimized/storage.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::heinsen {

/// One row of features for each sequence, in the type of the state.
template <class Real>
using state_view = view<arithmetic_of<Real>, 2>;
template <class Real>
using const_state_view = view<const arithmetic_of<Real>, 2>;

template <class Real>
struct scan_inputs {
  view<const Real, 3> decay;    ///< [B, n, d], log p for scan, the gate logits g for gated_scan
  view<const Real, 3> h;        ///< [B, n, d]
  const_state_view<Real> s0{};  ///< [B, d]; absent: zeros
  /// The difference between the state and s0 (s_n_low of the chunk before); absent: zeros.
  const_state_view<Real> s0_low{};
};

template <class Real>
struct scan_outputs {
  view<Real, 3> s;             ///< [B, n, d]
  state_view<Real> s_n;        ///< [B, d], the last state; it is s0 if n = 0
  state_view<Real> s_n_low{};  ///< [B, d], the difference between the last state and s_n; absent: not wanted
};

template <class Real>
struct scan_cotangents {
  view<const Real, 3> s{};     ///< the states of the forward pass; absent: they are computed again. They must be absent
                               ///< for 16 bits, because rounded states do not determine the weights
  view<const Real, 3> grad_s;  ///< [B, n, d]
  const_state_view<Real> grad_s_n{};  ///< [B, d]; absent: zeros
  /// The difference between the gradient and grad_s_n (grad_s0_low of the later tokens); absent: zeros.
  const_state_view<Real> grad_s_n_low{};
};

template <class Real>
struct scan_gradients {
  view<Real, 3> grad_decay;  ///< gradient of log p for scan_vjp, of g for gated_scan_vjp
  view<Real, 3> grad_h;
  state_view<Real> grad_s0;        ///< [B, d]; it is written even if s0 is absent
  state_view<Real> grad_s0_low{};  ///< [B, d], the difference between the gradient and grad_s0; absent: not wanted
};

/// Computes the recurrence for log p.
///
///     const heinsen::scan_inputs<float> in{dense<const float, 3>(log_p.data(), {B, n, d}),
///                                          dense<const float, 3>(h.data(), {B, n, d})};
///     heinsen::scan<float>(process_execution(), in,
///                          {dense<float, 3>(s.data(), {B, n, d}), dense<float, 2>(s_n.data(), {B, d})});
template <class Real>
void scan(const execution& on, const scan_inputs<Real>& in, const scan_outputs<Real>& out);

/// Computes the recurrence for log p = log sigmoid(g).
///
///     const view<const bfloat16, 3> g = dense<const bfloat16, 3>(gates.data(), {B, n, d});  // h and s likewise
///     heinsen::gated_scan<bfloat16>(process_execution(), {g, h, s0}, {s, dense<float, 2>(s_n.data(), {B, d})});
template <class Real>
void gated_scan(const execution& on, const scan_inputs<Real>& in, const scan_outputs<Real>& out);

/// The vector-Jacobian products. The features of all arrays lie without gaps. If the states are absent, only the state
/// before every 4096 tokens, or before every sqrt(2n) tokens, is kept; the other states are computed twice. The memory
/// is then proportional to B d sqrt(n).
///
///     heinsen::scan_vjp<float>(process_execution(), in, {states, dense<const float, 3>(grad_s.data(), {B, n, d})},
///                              {dense<float, 3>(grad_log_p.data(), {B, n, d}),
///                               dense<float, 3>(grad_h.data(), {B, n, d}), dense<float, 2>(grad_s0.data(), {B, d})});
template <class Real>
void scan_vjp(const execution& on, const scan_inputs<Real>& in, const scan_cotangents<Real>& cotangents,
              const scan_gradients<Real>& out);
template <class Real>
void gated_scan_vjp(const execution& on, const scan_inputs<Real>& in, const scan_cotangents<Real>& cotangents,
                    const scan_gradients<Real>& out);

#define ASSAY_STORED(Real)                                                                      \
  template <>                                                                                   \
  void scan(const execution&, const scan_inputs<Real>&, const scan_outputs<Real>&);             \
  template <>                                                                                   \
  void gated_scan(const execution&, const scan_inputs<Real>&, const scan_outputs<Real>&);       \
  template <>                                                                                   \
  void scan_vjp(const execution&, const scan_inputs<Real>&, const scan_cotangents<Real>&,       \
                const scan_gradients<Real>&);                                                   \
  template <>                                                                                   \
  void gated_scan_vjp(const execution&, const scan_inputs<Real>&, const scan_cotangents<Real>&, \
                      const scan_gradients<Real>&);
ASSAY_STORED(bfloat16)
ASSAY_STORED(float16)
#undef ASSAY_STORED

// From here on, Real is float or double.

/// A direction in the inputs of a scan.
template <class Real>
struct scan_direction {
  view<const Real, 3> tangent_decay;  ///< [B, n, d], tangent of log p for scan_jvp, of g for gated_scan_jvp
  view<const Real, 3> tangent_h;      ///< [B, n, d]
  view<const Real, 2> tangent_s0{};   ///< [B, d]; absent: zeros
  /// The difference between the tangent and tangent_s0 (tangent_s_n_low of the chunk before); absent: zeros.
  view<const Real, 2> tangent_s0_low{};
};

template <class Real>
struct scan_tangents {
  view<Real, 3> tangent_s;          ///< [B, n, d]
  view<Real, 2> tangent_s_n;        ///< [B, d], tangent of the last state; it is tangent_s0 if n = 0
  view<Real, 2> tangent_s_n_low{};  ///< [B, d], the difference between the tangent and tangent_s_n; absent: not wanted
};

/// The Jacobian-vector products and the states. The states equal those of scan and gated_scan bit for bit. The features
/// of all arrays lie without gaps. kernels/scan_jvp.ipp states special values and the bound.
///
///     heinsen::scan_jvp<float>(
///         process_execution(), in, {tangent_of_log_p, tangent_of_h}, out,
///         {dense<float, 3>(tangent_s.data(), {B, n, d}), dense<float, 2>(tangent_s_n.data(), {B, d})});
template <class Real>
void scan_jvp(const execution& on, const scan_inputs<Real>& in, const scan_direction<Real>& direction,
              const scan_outputs<Real>& states, const scan_tangents<Real>& out);
template <class Real>
void gated_scan_jvp(const execution& on, const scan_inputs<Real>& in, const scan_direction<Real>& direction,
                    const scan_outputs<Real>& states, const scan_tangents<Real>& out);

template <class Real>
struct embed_inputs {
  view<const Real, 3> x;         ///< [B, n, e]
  view<const Real, 2> W_H;       ///< [2d, e]: the first half gives g, the second half gives h
  view<const Real, 1> b_H;       ///< [2d]
  view<const Real, 2> W_R;       ///< [e, d]
  view<const Real, 1> b_R;       ///< [e]
  view<const Real, 2> s0{};      ///< [B, d]; absent: zeros
  view<const Real, 2> s0_low{};  ///< the difference between the state and s0; absent: zeros
};

template <class Real>
struct embed_outputs {
  view<Real, 3> y;          ///< [B, n, e]
  view<Real, 2> s_n;        ///< [B, d], the last state; it is s0 if n = 0
  view<Real, 2> s_n_low{};  ///< [B, d], the difference between the last state and s_n; absent: not wanted
};

template <class Real>
struct embed_cotangents {
  view<const Real, 3> grad_y;      ///< [B, n, e]
  view<const Real, 2> grad_s_n{};  ///< [B, d]; absent: zeros
};

/// Each gradient has the shape of its input. grad_s0 is written even if s0 is absent.
template <class Real>
struct embed_gradients {
  view<Real, 3> grad_x;
  view<Real, 2> grad_W_H;
  view<Real, 1> grad_b_H;
  view<Real, 2> grad_W_R;
  view<Real, 1> grad_b_R;
  view<Real, 2> grad_s0;
};

/// Computes y_i = x_i + W_R s_i + b_R, where s is the gated scan of (g_i, h_i) = W_H x_i + b_H [Heinsen 2024, eqs. (1)
/// to (3)]. OpenBLAS computes the linear maps (matrix_product.hpp). The order of its sums depends on the sizes and on
/// the processor. |error| <= gamma_(k + 2) times the sum of the magnitudes of the k products, the bias and x, where
/// gamma_k = k u / (1 - k u) [Higham 2002, section 3.1]. Precondition: 2d and e are below 2^31.
///
///     const view<const float, 2> W_H = dense<const float, 2>(weights.data(), {2 * d, e});  // the others likewise
///     heinsen::embed_position<float>(process_execution(), {x, W_H, b_H, W_R, b_R}, {y, s_n});
template <class Real>
void embed_position(const execution& on, const embed_inputs<Real>& in, const embed_outputs<Real>& out);

/// The vector-Jacobian product of embed_position. The states are computed once more. The gradients of the weights are
/// sums over all tokens.
///
///     heinsen::embed_position_vjp<float>(process_execution(), {x, W_H, b_H, W_R, b_R}, {grad_y},
///                                        {grad_x, grad_W_H, grad_b_H, grad_W_R, grad_b_R, grad_s0});
template <class Real>
void embed_position_vjp(const execution& on, const embed_inputs<Real>& in, const embed_cotangents<Real>& cotangents,
                        const embed_gradients<Real>& out);

}  // namespace assay::optimized::heinsen
