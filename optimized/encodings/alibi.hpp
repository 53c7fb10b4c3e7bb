// Attention with linear biases on arrays (Press, Smith, Lewis, "Train short, test long", 2021, arXiv 2108.12409).
//
// Views, results and threads are as of encodings/heinsen.hpp. Positions are doubles: integers are exact up to 2^53.
#pragma once

#include <cstddef>

#include "optimized/dispatch.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::alibi {

/// The slopes of all heads: the paper's, where those of a power of two are completed by every other one of the next; of
/// MPT, which sorts them otherwise; or 2^(-alpha k / heads), k = 1..heads, for any number of heads.
enum class slope_rule { official, mpt, naive };

/// Some heads of a model: those of one device of several.
struct model_heads {
  std::size_t first = 0, all = 0;  ///< all: 0 where it has no others
};
/// slopes, [heads]: within half a unit of the last place, and correctly rounded for all heads up to 128 (tests).
/// `alpha_max`, a multiple of 1/16, is 8 in the paper.
template <class Real>
void slopes(slope_rule rule, double alpha_max, const model_heads& of, const view<Real, 1>& slopes);

/// What a slope is multiplied by: key - query, -|key - query|, key, or key - last.
enum class bias_form { distance, absolute, key, key_from_last };
struct bias_rule {
  bias_form form = bias_form::distance;
  bool causal = true;  ///< keys after the query are masked: -inf
  double last = 0;     ///< of key_from_last
};

/// bias, [heads, n, m], of slopes, [heads], and the positions of queries, [n], and keys, [m]: one product, rounded once
/// in f64 and, by way of f64, in f32.
template <class Real>
void bias(const execution& on, const bias_rule& rule, const view<const Real, 1>& slopes,
          const view<const double, 1>& query, const view<const double, 1>& key, const view<Real, 3>& bias);

/// Its adjoint in the slopes: sums in double, by blocks of queries.
template <class Real>
void bias_vjp(const execution& on, const bias_rule& rule, const view<const double, 1>& query,
              const view<const double, 1>& key, const view<const Real, 3>& grad_bias, const view<Real, 1>& grad_slopes);

}  // namespace assay::optimized::alibi
