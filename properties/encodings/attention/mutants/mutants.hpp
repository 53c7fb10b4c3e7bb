// Wrong and right variants of attention, to gate the gate, and what they, and those of whatever attends with it, are
// made of.
#pragma once

#include <span>
#include <vector>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/recipe_variant.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::attention {

using R = reference::rounded;
using recipe = reference::encodings::attention::recipe<R>;
inline constexpr auto& changed_attention = make_variant<reference::encodings::attention>;

inline recipe_change<recipe> with_logit(R (*logit)(const R& product, const R& bias, const R& scale)) {
  return [logit](recipe& how) { how.logit = logit; };
}
inline recipe_change<recipe> with_weights(std::vector<R> (*weights)(const std::vector<R>& logits)) {
  return [weights](recipe& how) { how.weights = weights; };
}

/// exp(S_j - shift) over their sum; masked keys weigh nothing.
inline std::vector<R> weights_by_shift(
    const std::vector<R>& logits, const R& shift, R (*exponential)(const R&) = [](const R& x) { return exp(x); }) {
  std::vector<R> weights(logits.size(), R(0.0));
  R sum(0.0);
  for (std::size_t j = 0; j < logits.size(); ++j)
    if (!is_minus_infinity(logits[j])) sum = sum + (weights[j] = exponential(logits[j] - shift));
  for (R& w : weights)
    if (w.number != 0.0) w = w / sum;
  return weights;
}

inline R largest_of(const std::vector<R>& logits) {
  R largest(-core::infinity);
  for (const R& s : logits) largest = larger(largest, s);
  return largest;
}

/// Right: no exponent above 0 reaches exp, and that of 0 is 1.
inline std::vector<R> guarded_softmax(const std::vector<R>& logits) {
  return weights_by_shift(logits, largest_of(logits), [](const R& x) { return x.number > 0.0 ? R(1.0) : exp(x); });
}

/// The bias of each query, [m], head by head.
inline std::vector<std::span<double>> rows_of_bias(request& call) {
  core::tensor& bias = call.inputs.at("bias");
  std::vector<std::span<double>> rows;
  for (std::size_t first = 0, keys = bias.shape()[2]; first < bias.size(); first += keys)
    rows.emplace_back(bias.values.data() + first, keys);
  return rows;
}

std::vector<variant> mutants();
/// Those between the logits and the weights, which are among them.
std::vector<variant> weight_mutants();
std::vector<variant> controls();

}  // namespace assay::properties::encodings::attention
