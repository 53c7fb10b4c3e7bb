// The log-linear position encoding on arrays [Heinsen 2024, eqs. (1), (3)].
//
//   s_i = log(e^(log p_i + s_{i-1}) + e^(h_i)),  i = 1..n,  for each sequence and each feature alone.
//
// A call reads and writes views and runs on what its execution says. Outputs overlap neither inputs nor each other.
// Views of the wrong shape are contract violations; every value of an element has a defined result
// (kernels/scan_rows.ipp, scan_vjp.ipp and scan_jvp.ipp state special values, order of operations and bounds).
//
// Real is float, double, bfloat16 or float16. Arrays of tokens in 16 bits are widened, computed on as floats are, and
// rounded once; their states and what is handed on are floats.
//
// Results do not depend on the number of threads. Scans and all that contains one differ between instruction sets in
// their last bits, since fused operations and tables of powers of two are used where there are any.
#pragma once

#include <cstddef>

#include "optimized/dispatch.hpp"
#include "optimized/storage.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::heinsen {

/// A row of features for each sequence, of the type in which the state is kept.
template <class Real>
using state_view = view<arithmetic_of<Real>, 2>;
template <class Real>
using const_state_view = view<const arithmetic_of<Real>, 2>;

template <class Real>
struct scan_inputs {
  view<const Real, 3> decay;        ///< [B, n, d], log p for scan, the gate logits g for gated_scan
  view<const Real, 3> h;            ///< [B, n, d]
  const_state_view<Real> s0{};      ///< [B, d]; absent: zeros
  const_state_view<Real> s0_low{};  ///< what s0 lacks of the state (s_n_low of the chunk before); absent: zeros
};

template <class Real>
struct scan_outputs {
  view<Real, 3> s;             ///< [B, n, d]
  state_view<Real> s_n;        ///< [B, d], the last state: s0 where n = 0
  state_view<Real> s_n_low{};  ///< [B, d], what s_n lacks of it; absent: not wanted
};

template <class Real>
struct scan_cotangents {
  view<const Real, 3> s{};     ///< the states that the forward pass gave; absent: they are computed again. In 16 bits
                               ///< they must be absent: rounded states do not tell the weights
  view<const Real, 3> grad_s;  ///< [B, n, d]
  const_state_view<Real> grad_s_n{};  ///< [B, d]; absent: zeros
  const_state_view<Real>
      grad_s_n_low{};  ///< what grad_s_n lacks (grad_s0_low of the tokens after these); absent: zeros
};

template <class Real>
struct scan_gradients {
  view<Real, 3> grad_decay;  ///< in log p for scan_vjp, in g for gated_scan_vjp
  view<Real, 3> grad_h;
  state_view<Real> grad_s0;        ///< [B, d], written even where s0 is absent
  state_view<Real> grad_s0_low{};  ///< [B, d], what grad_s0 lacks; absent: not wanted
};

/// The recurrence for log p.
template <class Real>
void scan(const execution& on, const scan_inputs<Real>& in, const scan_outputs<Real>& out);

/// The recurrence for log p = log sigmoid(g).
template <class Real>
void gated_scan(const execution& on, const scan_inputs<Real>& in, const scan_outputs<Real>& out);

/// The vector-Jacobian products. The features of all arrays lie without gaps. Where the states are absent, those before
/// every 4096 tokens, or every sqrt(2n), are kept and the others computed twice: memory in proportion to B d sqrt(n).
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

// Real is float or double from here on.

/// A direction in the inputs of a scan.
template <class Real>
struct scan_direction {
  view<const Real, 3> tangent_decay;     ///< [B, n, d], in log p for scan_jvp, in g for gated_scan_jvp
  view<const Real, 3> tangent_h;         ///< [B, n, d]
  view<const Real, 2> tangent_s0{};      ///< [B, d]; absent: zeros
  view<const Real, 2> tangent_s0_low{};  ///< what tangent_s0 lacks (tangent_s_n_low of the chunk before); absent: zeros
};

template <class Real>
struct scan_tangents {
  view<Real, 3> tangent_s;          ///< [B, n, d]
  view<Real, 2> tangent_s_n;        ///< [B, d], of the last state: tangent_s0 where n = 0
  view<Real, 2> tangent_s_n_low{};  ///< [B, d], what tangent_s_n lacks; absent: not wanted
};

/// The Jacobian-vector products, and the states, which are those of scan and gated_scan, bit for bit. The features of
/// all arrays lie without gaps. Special values, bound: kernels/scan_jvp.ipp.
template <class Real>
void scan_jvp(const execution& on, const scan_inputs<Real>& in, const scan_direction<Real>& direction,
              const scan_outputs<Real>& states, const scan_tangents<Real>& out);
template <class Real>
void gated_scan_jvp(const execution& on, const scan_inputs<Real>& in, const scan_direction<Real>& direction,
                    const scan_outputs<Real>& states, const scan_tangents<Real>& out);

template <class Real>
struct embed_inputs {
  view<const Real, 3> x;         ///< [B, n, e]
  view<const Real, 2> W_H;       ///< [2d, e]: first the gate half, then that of h
  view<const Real, 1> b_H;       ///< [2d]
  view<const Real, 2> W_R;       ///< [e, d]
  view<const Real, 1> b_R;       ///< [e]
  view<const Real, 2> s0{};      ///< [B, d]; absent: zeros
  view<const Real, 2> s0_low{};  ///< what s0 lacks of the state; absent: zeros
};

template <class Real>
struct embed_outputs {
  view<Real, 3> y;          ///< [B, n, e]
  view<Real, 2> s_n;        ///< [B, d], the last state: s0 where n = 0
  view<Real, 2> s_n_low{};  ///< [B, d], what s_n lacks of it; absent: not wanted
};

template <class Real>
struct embed_cotangents {
  view<const Real, 3> grad_y;      ///< [B, n, e]
  view<const Real, 2> grad_s_n{};  ///< [B, d]; absent: zeros
};

/// Of the shapes of the inputs. grad_s0 is written even where s0 is absent.
template <class Real>
struct embed_gradients {
  view<Real, 3> grad_x;
  view<Real, 2> grad_W_H;
  view<Real, 1> grad_b_H;
  view<Real, 2> grad_W_R;
  view<Real, 1> grad_b_R;
  view<Real, 2> grad_s0;
};

/// y_i = x_i + W_R s_i + b_R, s the gated scan of (g_i, h_i) = W_H x_i + b_H [Heinsen 2024, eqs. (1) to (3)]. The
/// linear maps are OpenBLAS's (matrix_product.hpp): their sums have an order that depends on the sizes and on the
/// processor, and |error| <= gamma_(k + 2) times the sum of the magnitudes of the k products, the bias and x, with
/// gamma_k = k u / (1 - k u) [Higham 2002, section 3.1]. Precondition: 2d and e are below 2^31.
template <class Real>
void embed_position(const execution& on, const embed_inputs<Real>& in, const embed_outputs<Real>& out);

/// Its vector-Jacobian product. The states are computed once more. Gradients of weights are sums over all tokens.
template <class Real>
void embed_position_vjp(const execution& on, const embed_inputs<Real>& in, const embed_cotangents<Real>& cotangents,
                        const embed_gradients<Real>& out);

}  // namespace assay::optimized::heinsen
