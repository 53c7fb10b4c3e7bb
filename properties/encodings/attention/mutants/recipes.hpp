// Recipes of attention that differ from the right one in one place: what its mutants, and those of whatever attends
// with them, are made of.
#pragma once

#include <limits>
#include <vector>

#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::attention {

using unchanged_attention = unchanged<reference::encodings::attention>;

template <class R>
reference::attention_recipe<R> with_weights(std::vector<R> (*weights)(const std::vector<R>&)) {
  reference::attention_recipe<R> how;
  how.weights = weights;
  return how;
}

template <class R>
reference::attention_recipe<R> with_logit(R (*logit)(const R&, const R&, const R&)) {
  reference::attention_recipe<R> how;
  how.logit = logit;
  return how;
}

/// exp(S_j - shift) over their sum; masked keys weigh nothing.
template <class R>
std::vector<R> weights_by_shift(
    const std::vector<R>& logits, R shift, R (*exponential)(const R&) = [](const R& x) { return exp(x); }) {
  std::vector<R> weights(logits.size(), R(0.0));
  R sum(0.0);
  for (std::size_t j = 0; j < logits.size(); ++j)
    if (!is_minus_infinity(logits[j])) sum = sum + (weights[j] = exponential(logits[j] - shift));
  for (R& w : weights)
    if (w.number != 0.0) w = w / sum;
  return weights;
}

template <class R>
R largest_of(const std::vector<R>& logits) {
  R largest(-std::numeric_limits<double>::infinity());
  for (const R& s : logits) largest = larger(largest, s);
  return largest;
}

/// Right: no exponent above 0 reaches exp, and that of 0 is 1.
template <class R>
std::vector<R> guarded_softmax(const std::vector<R>& logits) {
  return weights_by_shift<R>(logits, largest_of(logits), [](const R& x) { return x.number > 0.0 ? R(1.0) : exp(x); });
}

}  // namespace assay::properties::encodings::attention
