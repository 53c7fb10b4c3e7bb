// Results of attention over parts of the keys, merged by their log-sum-exp: what split keys, prefixes that are shared
// and rings of devices end with (Ye et al. 2025, FlashInfer, arXiv 2501.01005, section 2.2; Liu, Zaharia and Abbeel
// 2023, Ring Attention, arXiv 2310.01889),
//
//   w_i = b^lse_i / sum_j b^lse_j,   o = sum_i w_i o_i,   lse = log_b sum_i b^lse_i
//
// Shapes: parts o_i [B, h, n, p, e] and lses [B, h, n, p] of p parts; o [B, h, n, e], lse [B, h, n]. `base` is b: e
// (Dao-AILab/flash-attention) or 2 (flashinfer-ai/flashinfer). `empty` is the lse that says that a part has no keys:
// -inf, or +inf, as flash-attention 2 has it, and then -inf says so, too (merge_attn_states of vllm-project/vllm).
//
// A part without keys has the weight 0, and its o_i is not read: programs multiply it by 0, so tests have finite
// numbers there. Without any keys o = 0, and lse says so. A part alone is the result, to the bit. NaN in an lse reaches
// the whole query, NaN in o_i its component; +inf that does not say that there are no keys is no logarithm of a sum,
// and gives NaN.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "reference/kinds/declarations.hpp"
#include "reference/kinds/query_rows.hpp"

namespace assay::reference {

/// Of one query: o_i [count, width], and lse_i [count].
template <class R>
struct attention_parts {
  std::size_t count, width;
  const R *values, *lses;
};

struct merge_rule {
  bool base_two, plus_infinity;

  template <class R>
  [[nodiscard]] bool has_keys(const R& lse) const {
    const double x = to_double(lse);
    return !std::isinf(x) || (x > 0.0 && !plus_infinity);
  }
  [[nodiscard]] double of_no_keys() const {
    return (plus_infinity ? 1.0 : -1.0) * std::numeric_limits<double>::infinity();
  }
  template <class R>
  [[nodiscard]] R power(const R& x) const {
    return base_two ? exp(x * log(R(2.0))) : exp(x);
  }
  template <class R>
  [[nodiscard]] R logarithm(const R& x) const {
    return base_two ? log(x) / log(R(2.0)) : log(x);
  }
};

/// x, in the allowance reading after so many roundings more.
template <class R>
R rounded_times(const R& x, double roundings) {
  if constexpr (carries_derivatives<R>)
    return R::made(rounded_times(x.number, roundings), R::along(x));
  else if constexpr (std::is_same_v<R, tracked>)
    return {x.number, x.error + roundings * (finite_magnitude(x.number) + tracked::tau())};
  else
    return x;
}
/// x, in the allowance reading off by so many u more.
template <class R>
R off_by(const R& x, double units) {
  if constexpr (carries_derivatives<R>)
    return R::made(off_by(x.number, units), R::along(x));
  else if constexpr (std::is_same_v<R, tracked>)
    return {x.number, x.error + units};
  else
    return x;
}
/// What programs may be off by that merge two parts at a time, in any order: then a result goes through so many merges
/// at most. Each rounds the lse that it stores, which is at most the largest one and the logarithm of the number of
/// parts, and multiplies it with log2 e or its inverse, a constant and a product; and has an exponential, a sum, a
/// quotient, and the product and the sum of o. The update of ring attention, o - sigmoid(lse_2 - lse_1) (o - o_2),
/// loses what is small beside o and o_2, and its gradient, which has 1 - sigmoid for the weight of all parts so far,
/// what is small beside 1. Its lse_1 - log sigmoid(lse_1 - lse_2) loses what is small beside their difference.
struct merge_roundings {
  double merges, of_lse, of_sum, of_weight, of_difference;
  explicit merge_roundings(std::size_t parts)
      : merges(static_cast<double>(parts) - 1.0),
        of_lse(3.0 * merges),
        of_sum(of_lse * std::log2(static_cast<double>(parts))),
        of_weight((accuracy::exp + 4.0) * merges),
        of_difference((accuracy::sigmoid + 2.0) * merges) {}
};
/// b^less
template <class R>
R power_of_part(const merge_rule& rule, const R& less, const merge_roundings& each) {
  if constexpr (std::is_same_v<R, adjoint<tracked>>) {
    tracked power = rule.power(less.number);
    power.error += each.of_difference;
    return R::made(power, R::by(less, [&] { return rule.base_two ? power * log(tracked(2.0)) : power; }));
  } else {
    return rule.power(less);
  }
}

/// o [width], and lse behind it: all weights from the largest lse. Proofs take the other parts less the heaviest one:
/// where it has nearly all the weight, the gradient is what the others weigh, and arithmetic cancels.
template <class R>
std::vector<R> merge_by_shift(const attention_parts<R>& parts, const merge_rule& rule) {
  std::vector<std::size_t> those;  // with keys
  double shift = -std::numeric_limits<double>::infinity(), least = -shift;
  std::size_t heaviest = 0;
  for (std::size_t i = 0; i < parts.count; ++i) {
    if (!rule.has_keys(parts.lses[i])) continue;
    those.push_back(i);
    if (const double x = to_double(parts.lses[i]); x > shift || std::isnan(x)) shift = x, heaviest = i;
    least = std::min(least, to_double(parts.lses[i]));
  }
  std::vector<R> merged(parts.width + 1, R(0.0));
  merged.back() = R(rule.of_no_keys());
  if (those.empty()) return merged;
  const merge_roundings each(those.size());
  const bool by_difference = !computes_in_formats<R> && std::isfinite(shift);
  std::vector<R> weights;
  accumulator<R> sum;
  for (const std::size_t i : those) {
    const R less =
        off_by(rounded_times(parts.lses[i], each.of_lse) - rounded_times(R(shift), each.of_lse), each.of_sum);
    weights.push_back(power_of_part(rule, less, each));
    sum.add(weights.back());
  }
  const R total = sum.total();
  for (R& w : weights) w = rounded_times(w / total, each.of_weight);
  for (std::size_t c = 0; c < parts.width; ++c) {
    accumulator<R> o;
    const R& most = parts.values[heaviest * parts.width + c];
    double largest = 0.0;
    if (by_difference) o.add(most);
    for (std::size_t k = 0; k < those.size(); ++k) {
      const R& x = parts.values[those[k] * parts.width + c];
      largest = std::max(largest, std::fabs(to_double(x)));
      if (!by_difference)
        o.add_product(weights[k], x);
      else if (those[k] != heaviest)
        o.add_product(weights[k], x - most);
    }
    merged[c] = o.total();
    if constexpr (std::is_same_v<R, tracked>) merged[c].error += 2.0 * each.of_difference * finite_magnitude(largest);
  }
  merged.back() = off_by(rounded_times(R(shift) + rule.logarithm(total), each.of_lse), each.of_sum);
  if constexpr (std::is_same_v<R, tracked>) merged.back().error += each.of_difference * finite_magnitude(shift - least);
  return merged;
}

/// What mutants and other algorithms replace.
template <class R>
struct merge_steps {
  recipe_step<R, std::vector<R>(const attention_parts<R>& parts, const merge_rule& rule)> merge = merge_by_shift<R>;
};

/// See query_rows.hpp; `Recipe` has merge_steps.
template <class R, class Recipe>
struct merged_rows {
  using recipe = Recipe;
  const field<R>&parts, &lses;
  const recipe& how;
  merge_rule rule;

  merged_rows(const arguments<R>& call, const recipe& steps)
      : parts(call["parts"]),
        lses(call["lses"]),
        how(steps),
        rule{core::chosen<bool>(call.settings, "base", {{"e", false}, {"2", true}}),
             core::chosen<bool>(call.settings, "empty", {{"minus_infinity", false}, {"plus_infinity", true}})} {}
  std::vector<std::vector<R>> operator()(std::size_t block, std::size_t i) const {
    const std::size_t count = parts.shape(3), width = parts.shape(4), query = block * parts.shape(2) + i;
    std::vector<R> o =
        how.merge({count, width, parts.data() + query * count * width, lses.data() + query * count}, rule);
    const R lse = o.back();
    o.pop_back();
    return {std::move(o), {lse}};
  }
};

inline core::operation merge_operation(const char* called) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  return {.name = called,
          .source = "Ye et al. 2025, arXiv 2501.01005, section 2.2",
          .inputs = {{.name = "parts",
                      .axes = {"B", "h", "n", "p", "e"},
                      .meaning = "outputs of attention over parts of the keys"},
                     {.name = "lses",
                      .axes = {"B", "h", "n", "p"},
                      .meaning = "their log-sum-exp; infinite: the part has no keys",
                      .domain = {.high = inf, .minus_infinity = true},
                      .role = core::input_role::logit}},
          .outputs = {{.name = "o",
                       .axes = {"B", "h", "n", "e"},
                       .meaning = "means of the parts by their weights",
                       .scale = core::error_scale::by_row},
                      {.name = "lse", .axes = {"B", "h", "n"}, .meaning = "log-sum-exp of all keys"}},
          .attributes = {choice("base", {"e", "2"}, "of the logarithms"),
                         choice("empty", {"minus_infinity", "plus_infinity"}, "the lse of a part without keys")},
          .grows_with = core::with_keys,
          .independent = {"B", "h", "n"},
          .axis_roles = {{"p", core::axis_role::key}}};
}

}  // namespace assay::reference
