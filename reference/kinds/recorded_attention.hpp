// Attention from logits (attention.hpp), of encodings whose formulas are programs: o_i = sum_j P_ij v_j of all queries
// at once.
//
// Shapes: logits and `seen` [B, h, n, m], v [B, h, m, e]; o [B, h, n, e]. What a query does not see reaches nothing,
// whatever it is; a query that sees no key gives 0 and has gradients of 0, as fused kernels have it.
#pragma once

#include <functional>
#include <vector>

#include "reference/kinds/attention_declarations.hpp"
#include "reference/kinds/recorded_call.hpp"

namespace assay::reference {

/// The weights of a row, 0 where no key is seen.
formula::traced softmax_of_seen(const formula::traced& logits, const formula::traced_truth& seen);

/// What of attention variants replace.
struct attention_recipe {
  std::function<formula::traced(const formula::traced& logits, const formula::traced_truth& seen)> weights =
      softmax_of_seen;
  /// o_i = sum_j E_ij v_j / sum_j E_ij, E = exp(S - max S), as fused kernels have it: in the gradient g . o stands for
  /// the mean of g . v (Dao et al. 2022, FlashAttention, arXiv 2205.14135, Algorithm 4).
  bool mean_from_output = false;
};

/// What queries read by their weights: the weights are those of the stage softmax as the stage output takes them in.
using reading_of_weights = std::function<formula::traced(const formula::traced& weights)>;

/// What queries read. Allowances of gradients take what either way of attention_recipe::mean_from_output may be off by.
/// Proofs know that the weight of one key alone is 1 whatever its logit is.
formula::traced attended(const attention_recipe& how, const recorded_call& in, const formula::traced& logits,
                         const formula::traced_truth& seen, const reading_of_weights& read);

/// Which keys of m the queries see that are the last n of them, [n, m], row by row.
std::vector<bool> seen_by_last_queries(std::size_t n, std::size_t m, bool causal);
/// The same for all rows and heads.
formula::traced_truth seen_of(const recorded_call& in, const std::vector<bool>& of_pairs);

}  // namespace assay::reference
