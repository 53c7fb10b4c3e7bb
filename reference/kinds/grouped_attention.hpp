// Attention whose heads of keys and values [B, h, m, .] each have a group of u heads of queries [B, h u, n, .], one
// behind the other (Ainslie et al. 2023, arXiv 2305.13245), and with a sink: one more key of each head, whose weight
// goes to nobody (gpt-oss; Xiao et al. 2023, arXiv 2309.17453). The gradients of keys and values are sums over groups.
#pragma once

#include <functional>
#include <string>

#include "reference/kinds/attention.hpp"

namespace assay::reference {

struct grouped_recipe : attention_recipe {
  std::function<formula::traced(const formula::traced& logits, const formula::traced_truth& seen)> log_sum_exp =
      log_sum_exp_of_seen;
  /// What the heads of queries of a group hand on to k and v is added up at once, or head by head, each of which is
  /// stored where keys are repeated (repeat_kv of huggingface/transformers). The other gradient has it, and the next.
  bool by_heads = false;
  /// Programs that join the sink to the logits before the softmax, as eager_attention_forward of gpt-oss in
  /// huggingface/transformers does, subtract their maximum in the format of the scores, as a step of the graph: its
  /// gradient is what all of the row add up to, 0 but for their errors.
  bool through_maximum = false;
  /// What a sink leaves of the output of the keys alone, o sigmoid(lse - sink). Programs whose kernel gives o and lse
  /// compute it so (pytorch/torchtitan).
  bool sink_apart = false;

  [[nodiscard]] bool adds_by_heads(const recorded_call& in) const { return by_heads || in.is_other_gradient(); }
};

/// u, the size of a group.
inline core::attribute_declaration group_setting() {
  return integer("group", {1, 2, 3}, {1.0, 0x1p20}, "how many heads of q share a head of k and v", "u");
}
inline core::attribute_declaration softcap_setting() {
  return real("softcap", {0.0, 50.0, 1.5}, {0.0, 0x1p20}, "c: logits s become c tanh(s / c); 0: they stay as they are");
}
/// c tanh(s / c) of a logit s (Gemma 2, arXiv 2408.00118).
inline formula::traced soft_capped(const formula::traced& s, const formula::traced& c) { return c * tanh(s / c); }

/// Which terms of x a mask lets in, or else which sums, of all rows and heads or [n, m]; all where there is none.
struct masks_of_groups {
  const formula::traced_truth *terms = nullptr, *sums = nullptr;
};
/// "id,jd->ij" of each head of queries, x, and its head of keys, y.
formula::traced of_groups(const formula::traced& x, const formula::traced& y, const std::string& letters, bool by_heads,
                          const masks_of_groups& masks);

/// What queries read beside the logits `sink` [h u] of a key without a value; -inf: there is none. A query that sees no
/// key gives 0.
formula::traced attended_beside_sink(const grouped_recipe& how, const recorded_call& in, const formula::traced& logits,
                                     const formula::traced_truth& seen, const formula::traced& sink,
                                     const reading_of_weights& read);

}  // namespace assay::reference
