// Attention with linear biases on arrays (Press, Smith, Lewis, "Train short, test long", 2021, arXiv 2108.12409).
//
// The rules for views, results and threads are those of encodings/heinsen.hpp. Positions are doubles, so integers are
// exact up to 2^53.
#pragma once

#include <cstddef>

#include "optimized/dispatch.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::alibi {

/// The rules for the slopes of all heads. `official` is the paper's rule: if the number of heads is no power of two, it
/// takes the slopes of the power of two below and then every second slope of the next power. `mpt` is MPT's rule, which
/// gives the same slopes in the same order. `naive` gives 2^(-alpha k / heads), k = 1..heads, for any number of heads.
enum class slope_rule { official, mpt, naive };

/// A part of the heads of a model, for example the heads on one of several devices.
struct model_heads {
  std::size_t first = 0, all = 0;  ///< `all` is 0 if the model has no other heads
};
/// Computes slopes, [heads]. Their errors are at most half a unit in the last place; for all heads up to 128 they are
/// correctly rounded (tests). `alpha_max`, a multiple of 1/16, is 8 in the paper.
///
///     alibi::slopes<float>(alibi::slope_rule::official, 8.0, {}, dense<float, 1>(slopes.data(), {heads}));
template <class Real>
void slopes(slope_rule rule, double alpha_max, const model_heads& model, const view<Real, 1>& slopes);

/// The factor of a slope: key - query, -|key - query|, key, or key - last.
enum class bias_form { distance, absolute, key, key_from_last };
struct bias_rule {
  bias_form form = bias_form::distance;
  bool causal = true;  ///< keys after the query are masked by -inf
  double last = 0;     ///< used by key_from_last
};

/// Computes bias, [heads, n, m], from slopes, [heads], and from the positions of queries, [n], and keys, [m]. Each bias
/// is one product, rounded once in f64; for f32, the f64 product is rounded to f32.
///
///     alibi::bias<float>(process_execution(), {alibi::bias_form::distance, true},
///                        dense<const float, 1>(slopes.data(), {heads}), dense<const double, 1>(position.data(), {n}),
///                        dense<const double, 1>(position.data(), {n}), dense<float, 3>(bias.data(), {heads, n, n}));
template <class Real>
void bias(const execution& on, const bias_rule& rule, const view<const Real, 1>& slopes,
          const view<const double, 1>& query, const view<const double, 1>& key, const view<Real, 3>& bias);

/// The adjoint of bias with respect to the slopes. The sums are in double, by blocks of queries.
///
///     alibi::bias_vjp<float>(process_execution(), {}, positions, positions,
///                            dense<const float, 3>(grad_bias.data(), {heads, n, n}),
///                            dense<float, 1>(grad_slopes.data(), {heads}));
template <class Real>
void bias_vjp(const execution& on, const bias_rule& rule, const view<const double, 1>& query,
              const view<const double, 1>& key, const view<const Real, 3>& grad_bias, const view<Real, 1>& grad_slopes);

}  // namespace assay::optimized::alibi
