// The log-linear position encoding on arrays [Heinsen 2024, eqs. (1), (3)].
//
//   s_i = log(e^(log p_i + s_{i-1}) + e^(h_i)),  i = 1..n,  for each sequence and each feature alone.
//
// Arrays are row-major with the features contiguous. Outputs overlap neither inputs nor each other. Spans of
// the wrong size are contract violations; every value of an element has a defined result (kernels/scan.ipp
// states special values, order of operations and bounds). Results do not depend on the number of threads or
// on the instruction set. Precondition of all: active_target() is no error.
#pragma once

#include <cstddef>
#include <span>

namespace assay::optimized::heinsen {

/// The sizes of [B, n, d]. Element (b, i, j) of an input lies at ((b n + i) input_stride + j), that of a state
/// at ((b n + i) state_stride + j); a stride of 0 stands for d. Rows may thus be parts of longer ones.
struct scan_shape {
  std::size_t batch, tokens, features;
  std::size_t input_stride = 0;  ///< of decay, h and their gradients
  std::size_t state_stride = 0;  ///< of s and grad_s
};

template <class Real>
struct scan_inputs {
  std::span<const Real> decay;  ///< [B, n, d], log p for scan, the gate logits g for gated_scan
  std::span<const Real> h;      ///< [B, n, d]
  std::span<const Real> s0{};   ///< [B, d]; empty: zeros
};

template <class Real>
struct scan_outputs {
  std::span<Real> s;    ///< [B, n, d]
  std::span<Real> s_n;  ///< [B, d], the last state: s0 where n = 0
};

template <class Real>
struct scan_cotangents {
  std::span<const Real> s;           ///< the states that the forward pass gave
  std::span<const Real> grad_s;      ///< [B, n, d]
  std::span<const Real> grad_s_n{};  ///< [B, d]; empty: zeros
};

template <class Real>
struct scan_gradients {
  std::span<Real> grad_decay;  ///< in log p for scan_vjp, in g for gated_scan_vjp
  std::span<Real> grad_h;
  std::span<Real> grad_s0;  ///< [B, d], written even where s0 is empty
};

/// The recurrence for log p.
template <class Real>
void scan(const scan_shape& shape, const scan_inputs<Real>& in, const scan_outputs<Real>& out);

/// The recurrence for log p = log sigmoid(g).
template <class Real>
void gated_scan(const scan_shape& shape, const scan_inputs<Real>& in, const scan_outputs<Real>& out);

/// The vector-Jacobian products.
template <class Real>
void scan_vjp(const scan_shape& shape, const scan_inputs<Real>& in, const scan_cotangents<Real>& cotangents,
              const scan_gradients<Real>& out);
template <class Real>
void gated_scan_vjp(const scan_shape& shape, const scan_inputs<Real>& in, const scan_cotangents<Real>& cotangents,
                    const scan_gradients<Real>& out);

/// The sizes of x [B, n, e] and of the state [B, d].
struct embed_shape {
  std::size_t batch, tokens, embedding, features;
};

template <class Real>
struct embed_inputs {
  std::span<const Real> x;         ///< [B, n, e]
  std::span<const Real> W_H, b_H;  ///< [2d, e], [2d]: first the gate half, then that of h
  std::span<const Real> W_R, b_R;  ///< [e, d], [e]
  std::span<const Real> s0{};      ///< [B, d]; empty: zeros
};

template <class Real>
struct embed_outputs {
  std::span<Real> y;    ///< [B, n, e]
  std::span<Real> s_n;  ///< [B, d]
};

template <class Real>
struct embed_cotangents {
  std::span<const Real> grad_y;
  std::span<const Real> grad_s_n{};  ///< empty: zeros
};

template <class Real>
struct embed_gradients {
  std::span<Real> grad_x, grad_W_H, grad_b_H, grad_W_R, grad_b_R, grad_s0;
};

/// y_i = (W_R s_i + b_R) + x_i, s the gated scan of (g_i, h_i) = W_H x_i + b_H.
template <class Real>
void embed_position(const embed_shape& shape, const embed_inputs<Real>& in, const embed_outputs<Real>& out);

/// Its vector-Jacobian product. The states are computed once more.
template <class Real>
void embed_position_vjp(const embed_shape& shape, const embed_inputs<Real>& in,
                        const embed_cotangents<Real>& cotangents, const embed_gradients<Real>& out);

}  // namespace assay::optimized::heinsen
