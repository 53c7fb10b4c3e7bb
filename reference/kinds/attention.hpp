// Attention from logits (algorithms/attention.hpp): o_i = sum_j P_ij v_j with the weights P of the logits S_ij = scale
// q_i . k_j + b_ij, of all queries at once.
//
// Shapes: q [B, h, n, d], k [B, h, m, d], logits and `seen` [B, h, n, m], v [B, h, m, e]; o [B, h, n, e]. Setting
// `scale` of q . k: "inverse_sqrt", 1 / sqrt(d) (Vaswani et al. 2017, eq. 1), or "one" (T5; Raffel et al. 2020, section
// 2.1). What a query does not see reaches no output, whatever it is; a query that sees no key gives 0 and has gradients
// of 0, as fused kernels have it. A NaN reaches every query that may see it; an infinite logit of q . k is none of the
// domain.
#pragma once

#include <functional>
#include <vector>

#include "reference/kinds/attention_of_places.hpp"
#include "reference/kinds/relative_scores.hpp"

namespace assay::reference {

/// The weights of a row, 0 where no key is seen.
formula::traced softmax_of_seen(const formula::traced& logits, const formula::traced_truth& seen);

/// log sum exp of what a row sees, as a column beside the keys; -inf of nothing.
formula::traced log_sum_exp_of_seen(const formula::traced& logits, const formula::traced_truth& seen);

/// What of attention variants replace.
struct attention_recipe {
  std::function<formula::traced(const formula::traced& logits, const formula::traced_truth& seen)> weights =
      softmax_of_seen;
  /// o_i = sum_j E_ij v_j / sum_j E_ij, E = exp(S - max S), as fused kernels have it: in the gradient g . o stands for
  /// the mean of g . v (Dao et al. 2022, FlashAttention, arXiv 2205.14135, Algorithm 4).
  bool mean_from_output = false;
  std::function<formula::traced(const formula::traced& product, const formula::traced& bias,
                                const formula::traced& scale)>
      logit = [](const formula::traced& product, const formula::traced& bias, const formula::traced& scale) {
        return scale * product + bias;
      };
};

/// scale q . k + bias, which broadcasts to [B, h, n, m], of what is seen; elsewhere q . k counts as 0.
formula::traced logits_of(const attention_recipe& how, const recorded_call& in, const formula::traced& bias,
                          const formula::traced_truth& seen);

/// What queries read by their weights: the weights are those of the stage softmax as the stage output takes them in.
using reading_of_weights = std::function<formula::traced(const formula::traced& weights)>;

/// What queries read. Allowances of gradients take what either way of attention_recipe::mean_from_output may be off by.
/// Proofs know that the weight of one key alone is 1 whatever its logit is, but for NaN.
formula::traced attended(const attention_recipe& how, const recorded_call& in, const formula::traced& logits,
                         const formula::traced_truth& seen, const reading_of_weights& read);

/// The same of the values `v`.
formula::traced attended(const attention_recipe& how, const recorded_call& in, const formula::traced& logits,
                         const formula::traced_truth& seen);

/// Where the queries of a call stand among its keys.
class recorded_places : public query_places {
 public:
  explicit recorded_places(const recorded_call& in);
  [[nodiscard]] formula::traced_integer of_queries() const;  ///< [n, 1]
  [[nodiscard]] formula::traced_integer of_keys() const;     ///< [1, m]
  [[nodiscard]] formula::traced_integer last_key() const;
  [[nodiscard]] std::vector<bool> all_seen() const;  ///< [n, m]

 private:
  std::size_t queries_, keys_;
};
/// Attention with a bias [h, n, m] that is made of those places, in a stage of its own behind those of attention, and
/// multiplied by the setting `bias_factor`.
formula::traced attended_by_places(const attention_recipe& how, const recorded_call& in,
                                   const std::function<formula::traced(const recorded_places&)>& bias);

/// Which keys of m the queries see that are the last n of them, [n, m], row by row.
std::vector<bool> seen_by_last_queries(std::size_t n, std::size_t m, bool causal);
/// The same for all rows and heads.
formula::traced_truth seen_of(const recorded_call& in, const std::vector<bool>& of_pairs);

}  // namespace assay::reference
