// Attention whose heads of keys and values [B, h, m, .] each have a group of u heads of queries [B, h u, n, .], one
// after the other (Ainslie et al. 2023, arXiv 2305.13245), and which may have a sink: one more key of each head, whose
// weight multiplies no value (gpt-oss; Xiao et al. 2023, arXiv 2309.17453). The gradients of keys and values are sums
// over groups.
#pragma once

#include <functional>
#include <string>

#include "reference/kinds/attention.hpp"

namespace assay::reference {

struct grouped_scheme : attention_scheme {
  std::function<formula::traced(const formula::traced& logits, const formula::traced_truth& seen)> log_sum_exp =
      log_sum_exp_of_seen;
  /// Whether the gradients that the query heads of a group pass to k and v are added head by head, where each is stored
  /// because keys are repeated (repeat_kv of huggingface/transformers), or all at once. The other gradient adds them
  /// head by head, too.
  bool by_heads = false;
  /// Whether the maximum of logits and sink is subtracted before the softmax, in the format of the scores and as a step
  /// of the graph (eager_attention_forward of gpt-oss in huggingface/transformers). The gradient of the maximum is the
  /// sum of the gradients of the row, which is 0 except for their errors.
  bool through_maximum = false;
  /// Whether the output with a sink is computed as o sigmoid(lse - sink), from the output o of the keys alone, as in
  /// programs whose kernel gives o and lse (pytorch/torchtitan).
  bool sink_apart = false;

  [[nodiscard]] bool adds_by_heads(const recorded_call& in) const { return by_heads || in.is_other_gradient(); }
};

/// The setting u, the size of a group.
inline core::attribute_declaration group_setting() {
  return integer("group", {1, 2, 3}, {1.0, 0x1p20}, "how many heads of q share a head of k and v", "u");
}
inline core::attribute_declaration softcap_setting() {
  return real("softcap", {0.0, 50.0, 1.5}, {0.0, 0x1p20}, "c: logits s become c tanh(s / c); 0: they stay as they are");
}
/// c tanh(s / c), a logit s with a soft cap (Gemma 2, arXiv 2408.00118).
inline formula::traced soft_capped(const formula::traced& s, const formula::traced& c) { return c * tanh(s / c); }

/// A mask of the terms of x, or else a mask of the sums; null where there is none. A mask has the shape of x or of the
/// sums; the mask of sums may also be [n, m], the same for all batch rows and heads.
struct masks_of_groups {
  const formula::traced_truth *terms = nullptr, *sums = nullptr;
};
/// The contraction `letters`, such as "id,jd->ij", of each head of queries, x, with its head of keys, y.
formula::traced products_of_groups(const formula::traced& x, const formula::traced& y, const std::string& letters,
                                   bool by_heads, const masks_of_groups& masks);

/// The output of queries with a sink: `sink` [h u] are logits of a key without a value; -inf means that there is none.
/// A query that sees no key gives 0.
formula::traced attended_beside_sink(const grouped_scheme& steps, const recorded_call& in,
                                     const formula::traced& logits, const formula::traced_truth& seen,
                                     const formula::traced& sink, const reading_of_weights& read);

}  // namespace assay::reference
