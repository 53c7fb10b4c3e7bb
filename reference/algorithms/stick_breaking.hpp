// The weights of stick-breaking attention (Tan, Shen, Yang, Courville and Panda, "Scaling Stick-Breaking Attention: An
// Efficient Implementation and In-depth Study", ICLR 2025, arXiv 2410.17980): every key, from the nearest one back,
// breaks the share sigmoid(z) off what nearer keys have left of a stick of length 1,
//
//   a_j = sigmoid(z_j) prod_{l > j} (1 - sigmoid(z_l)) = exp(z_j - sum_{l >= j} softplus(z_l)),   r = what is left.
//
// A row is the logits of the keys that a query sees, the nearest last; its weights are as many, and r behind them.
// z = -inf: the key is transparent, of weight 0. z = +inf: it takes what is left, and older keys have exactly 0. NaN
// reaches its own key, older ones and r.
#pragma once

#include <limits>
#include <vector>

#include "reference/algorithms/sigmoid_of_autograd.hpp"
#include "reference/algorithms/suffix_sums.hpp"
#include "reference/primitives/logistic.hpp"
#include "reference/readings/stages.hpp"

namespace assay::reference {

/// The softplus of a row, and the share of the stick that follows from it: beyond `linear_above` softplus(z) is z, the
/// key breaks off everything, and what it leaves is exp(-z) all the same. Infinite: nowhere.
template <class R>
struct stick_rule {
  R linear_above;
  std::size_t stage = 0;  ///< of the softplus, which a program may keep in the dtype of the logits

  [[nodiscard]] R softplus_of(const R& z) const {
    return in_stage<R>(
        stage,
        [this](const R& x) {
          return either_way(
              x, [&] { return x; }, [&] { return softplus(x); });
        },
        z);
  }
  /// log sigmoid(z) = z - softplus(z)
  [[nodiscard]] R log_share(const R& z) const {
    return either_way(
        z, [] { return R(0.0); }, [&] { return log_sigmoid(z); });
  }
  // With the gradient that automatic differentiation has of sigmoid.
  [[nodiscard]] R share(const R& z) const {
    return either_way(
        z, [] { return R(1.0); }, [&] { return sigmoid_of_autograd(z); });
  }
  [[nodiscard]] R left_by(const R& z) const {
    return either_way(
        z, [&] { return exp(-z); }, [&] { return sigmoid_of_autograd(-z); });
  }

 private:
  template <class Linear, class Exact>
  R either_way(const R& z, Linear linear, Exact exact) const {
    const boost::tribool beyond = less(linear_above, z);
    if (boost::indeterminate(beyond)) return either(beyond, linear(), exact());
    return beyond ? linear() : exact();
  }
};

/// z - sum. The allowance reading takes what kernels may be off by that work in base two: z and the sum are multiplied
/// with log2 e, a constant and a product, each of which rounds.
template <class R>
R exponent_of_weight(const R& z, const R& sum) {
  if constexpr (carries_derivatives<R>) {
    return R::made(exponent_of_weight(z.number, sum.number), R::along(z), R::against(sum));
  } else if constexpr (computes_in_formats<R>) {
    const auto in_base_two = [](const R& x) { return x.rounded_once().rounded_once(); };
    return covering(z - sum, [&] { return in_base_two(z) - in_base_two(sum); });
  } else {
    return z - sum;
  }
}

/// By sums of softplus, which `sums` makes. Arithmetic subtracts the sum with the key's own softplus in it, as kernels
/// do, unless that is infinity from infinity; proofs keep all digits of log sigmoid(z).
template <class R, std::vector<R> (*sums)(const std::vector<R>&) = suffix_sums<R>>
std::vector<R> stick_by_sums(const std::vector<R>& z, const stick_rule<R>& rule) {
  std::vector<R> terms, weights;
  for (const R& x : z) terms.push_back(rule.softplus_of(x));
  std::vector<R> s = sums(terms);
  s.push_back(R(0.0));
  for (std::size_t j = 0; j < z.size(); ++j)
    if constexpr (!computes_in_formats<R>)
      weights.push_back(exp(rule.log_share(z[j]) - s[j + 1]));
    else if (to_double(z[j]) == std::numeric_limits<double>::infinity())
      weights.push_back(exp(-s[j + 1]));
    else
      weights.push_back(exp(exponent_of_weight(z[j], s[j])));
  weights.push_back(exp(exponent_of_weight(R(0.0), s.front())));
  return weights;
}

/// By the product of what each key leaves.
template <class R>
std::vector<R> stick_by_product(const std::vector<R>& z, const stick_rule<R>& rule) {
  std::vector<R> weights(z.size() + 1);
  R left(1.0);
  for (std::size_t j = z.size(); j-- > 0;) {
    weights[j] = rule.share(z[j]) * left;
    left = left * rule.left_by(z[j]);
  }
  weights.back() = left;
  return weights;
}

}  // namespace assay::reference
