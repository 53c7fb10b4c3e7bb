// Attention from logits (algorithms/attention.hpp): o_i = sum_j P_ij v_j, where the weights P are the softmax of the
// logits S_ij = scale q_i . k_j + b_ij, for all queries at once.
//
// Shapes: q [B, h, n, d], k [B, h, m, d], logits and `seen` [B, h, n, m], v [B, h, m, e]; o [B, h, n, e]. The setting
// `scale` of q . k is "inverse_sqrt", 1 / sqrt(d) (Vaswani et al. 2017, eq. 1), or "one" (T5; Raffel et al. 2020,
// section 2.1). A key that a query does not see changes no output, whatever it holds. A query that sees no key gives 0
// and has gradients of 0, as in fused kernels. A NaN reaches every query that may see it. An infinite logit of q . k is
// outside the domain.
#pragma once

#include <functional>
#include <vector>

#include "reference/kinds/attention_of_places.hpp"
#include "reference/kinds/relative_scores.hpp"

namespace assay::reference {

/// The weights of a row, 0 where no key is seen.
formula::traced softmax_of_seen(const formula::traced& logits, const formula::traced_truth& seen);

/// log sum exp of the logits that a row sees, as a column beside the keys; -inf where a row sees nothing.
formula::traced log_sum_exp_of_seen(const formula::traced& logits, const formula::traced_truth& seen);

/// The parts of attention that variants replace.
struct attention_scheme {
  std::function<formula::traced(const formula::traced& logits, const formula::traced_truth& seen)> weights =
      softmax_of_seen;
  /// Whether o_i is sum_j E_ij v_j / sum_j E_ij with E = exp(S - max S), as in fused kernels. The gradient then
  /// has g . o in place of the mean of g . v (Dao et al. 2022, FlashAttention, arXiv 2205.14135, Algorithm 4).
  bool mean_from_output = false;
  std::function<formula::traced(const formula::traced& product, const formula::traced& bias,
                                const formula::traced& scale)>
      logit = [](const formula::traced& product, const formula::traced& bias, const formula::traced& scale) {
        return scale * product + bias;
      };
};

/// scale q . k + bias for seen pairs; elsewhere q . k counts as 0. The bias broadcasts to [B, h, n, m].
formula::traced logits_of(const attention_scheme& steps, const recorded_call& in, const formula::traced& bias,
                          const formula::traced_truth& seen);

/// Makes the output of queries from weights. The weights come from the stage softmax, cast to the format in which the
/// stage output takes them.
using reading_of_weights = std::function<formula::traced(const formula::traced& weights)>;

/// The output of queries; `read` makes it from the weights. Allowances of gradients cover the errors of both ways of
/// attention_scheme::mean_from_output. Proofs use that the weight of a single key is 1 whatever its logit is, except
/// NaN.
formula::traced attended(const attention_scheme& steps, const recorded_call& in, const formula::traced& logits,
                         const formula::traced_truth& seen, const reading_of_weights& read);

/// The same, where the queries read the values `v`.
formula::traced attended(const attention_scheme& steps, const recorded_call& in, const formula::traced& logits,
                         const formula::traced_truth& seen);

/// The places of a call's queries among its keys.
class recorded_places : public query_places {
 public:
  explicit recorded_places(const recorded_call& in);
  [[nodiscard]] formula::traced_integer query_numbers() const;  ///< [n, 1]
  [[nodiscard]] formula::traced_integer key_numbers() const;    ///< [1, m]
  [[nodiscard]] formula::traced_integer last_key() const;
  [[nodiscard]] std::vector<bool> all_seen() const;  ///< [n, m]

 private:
  std::size_t queries_, keys_;
};
/// Attention with a bias [h, n, m] that `bias` makes from these places. The bias has a stage of its own after the
/// stages of attention, and is multiplied by the setting `bias_factor`.
formula::traced attended_by_places(const attention_scheme& steps, const recorded_call& in,
                                   const std::function<formula::traced(const recorded_places&)>& bias);

/// Whether each query sees each of m keys, [n, m], row by row, where the queries are the last n of the keys.
std::vector<bool> seen_by_last_queries(std::size_t n, std::size_t m, bool causal);
/// The truths [n, m], repeated for all batch rows and heads: [B, h, n, m].
formula::traced_truth seen_of(const recorded_call& in, const std::vector<bool>& seen_pairs);

}  // namespace assay::reference
