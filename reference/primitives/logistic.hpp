// The logistic function sigmoid(z) = 1 / (1 + exp(-z)), its logarithm, and softplus(x) = log(1 + exp(x)) =
// -log_sigmoid(-x).
#pragma once

#include "reference/primitives/readings.hpp"

namespace assay::reference {

namespace accuracy {
/// The relative errors, in units of u.
inline constexpr double sigmoid = 4;      ///< 1 / (1 + exp(-z)): exp, one addition, one division
inline constexpr double log_sigmoid = 4;  ///< -log1p(exp(-g)), or min(g, 0) - log1p(exp(-|g|))
}  // namespace accuracy

/// Carry weight w = exp(t - s) and input weight v = exp(h - s) of s = log_sum_exp(t, h); w + v = 1.
template <class R>
struct weight_pair {
  R w, v;
};

value sigmoid(const value& z);
enclosure sigmoid(const enclosure& z);
template <class Number>
ball<Number> sigmoid(const ball<Number>& z);
tracked sigmoid(const tracked& z);
rounded sigmoid(const rounded& z);

/// {sigmoid(z), sigmoid(-z)}; neither is computed by subtraction.
weight_pair<value> carry_weights(const value& z);
weight_pair<enclosure> carry_weights(const enclosure& z);
/// Over the radius r the slope w v of both weights grows by a factor below e^r.
template <class Number>
weight_pair<ball<Number>> carry_weights(const ball<Number>& z);
/// v may be formed as sigmoid(-z), or as 1 - w multiplied by the adjoint: the latter costs 3w.
weight_pair<tracked> carry_weights(const tracked& z);
weight_pair<rounded> carry_weights(const rounded& z);

value softplus(const value& x);
enclosure softplus(const enclosure& x);
template <class Number>
ball<Number> softplus(const ball<Number>& x);
tracked softplus(const tracked& x);
rounded softplus(const rounded& x);

value log_sigmoid(const value& g);
enclosure log_sigmoid(const enclosure& g);
template <class Number>
ball<Number> log_sigmoid(const ball<Number>& g);
tracked log_sigmoid(const tracked& g);
rounded log_sigmoid(const rounded& g);

}  // namespace assay::reference
