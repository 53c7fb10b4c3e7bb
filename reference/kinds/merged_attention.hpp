// Results of attention over parts of the keys, merged by their log-sum-exp. This is the last step of split keys, of
// shared prefixes and of rings of devices (Ye et al. 2025, FlashInfer, arXiv 2501.01005, section 2.2; Liu, Zaharia and
// Abbeel 2023, Ring Attention, arXiv 2310.01889),
//
//   w_i = b^lse_i / sum_j b^lse_j,   o = sum_i w_i o_i,   lse = log_b sum_i b^lse_i
//
// Shapes: parts o_i [B, h, n, p, e] and lses [B, h, n, p] of p parts; o [B, h, n, e], lse [B, h, n]. `base` is b: e
// (Dao-AILab/flash-attention) or 2 (flashinfer-ai/flashinfer). `empty` is the lse of a part without keys: -inf, or +inf
// as in flash-attention 2; with +inf, -inf means the same (merge_attn_states of vllm-project/vllm).
//
// A part without keys has the weight 0, and its o_i is not read; but programs multiply it by 0, so tests have finite
// numbers there. Without any keys o = 0, and lse says that there are none. A single part is the result, to the bit. NaN
// in an lse reaches the whole query; NaN in o_i reaches its component. A +inf that does not mean "no keys" is no
// logarithm of a sum, and gives NaN.
#pragma once

#include <functional>
#include <limits>

#include "reference/kinds/recorded_call.hpp"

namespace assay::reference {

/// o_i [B, h, n, p, e] and lse_i [B, h, n, p].
struct attention_parts {
  formula::traced values, lses;
};
/// o [B, h, n, e], lse [B, h, n].
struct merged_parts {
  formula::traced o, lse;
};
struct merge_rule {
  bool base_two, plus_infinity;

  [[nodiscard]] formula::traced_truth has_keys(const formula::traced& lse) const;
  [[nodiscard]] formula::traced lse_of_no_keys() const {
    return formula::traced((plus_infinity ? 1.0 : -1.0) * std::numeric_limits<double>::infinity());
  }
  [[nodiscard]] formula::traced power(const formula::traced& x) const;
  [[nodiscard]] formula::traced logarithm(const formula::traced& x) const;
};

/// Computes all weights relative to the largest lse. An allowance covers programs that merge two parts at a time, in
/// any order.
merged_parts merge_by_shift(const attention_parts& parts, const merge_rule& rule, const recorded_call& in);

/// The step that variants replace.
struct merge_scheme {
  std::function<merged_parts(const attention_parts& parts, const merge_rule& rule)> merge{};
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
          .attributes = {choice("base", {"e", "2"}, "base of the logarithms"),
                         choice("empty", {"minus_infinity", "plus_infinity"},
                                "which infinity is the lse of a part without keys")},
          .grows_with = core::with_keys,
          .independent = {"B", "h", "n"},
          .axis_roles = {{"p", core::axis_role::key}}};
}

}  // namespace assay::reference
