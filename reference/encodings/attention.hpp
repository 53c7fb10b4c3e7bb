// Dot-product attention with an additive bias of the logits, to which relative encodings add, and through which every
// later encoding is observed (kinds/attention.hpp); and dot-product attention as kernels offer it
// (Dao-AILab/flash-attention, flashinfer).
//
// `attention/output`: bias [h, n, m], shared by the rows of the batch; -inf is the mask. It is added to the scaled
// product: code that scales both (Falcon's ALiBi) computes another function.
//
// `attention/grouped_query`, `attention/sinks`, `attention/lse`: no bias, but settings that hide keys and cap logits.
// Each head of keys and values serves `group` = u heads of queries, one after the other (Ainslie et al. 2023, arXiv
// 2305.13245); the gradients of k and v are sums over these. `causal`, `alignment`, `window_left` and `window_right`:
// see kinds/attention_of_places.hpp; a window of w keys that includes the query's own, as in Mistral, is window_left =
// w - 1. `chunk`: queries see keys of their own chunk alone (Llama 4; attention_chunk of FlashAttention 3). `softcap`
// c: logits are c tanh(scale q . k / c) before keys are hidden (Gemma 2, arXiv 2408.00118); 0 means no cap. Laws of
// these three: tanh(x) is of class sequential, and 2 sigmoid(2x) - 1, as in Triton kernels, is of class linear.
//
// - sinks: `sink` [h u] is the logit of one more key of each head, whose weight multiplies no value (gpt-oss; Xiao et
//   al. 2023, arXiv 2309.17453). A query that sees no key gives 0. The form o sigmoid(lse - sink), with the o and lse
//   of the keys (pytorch/torchtitan), is of class linear: its gradient loses the share of the sink beside 1.
// - lse [B, h u, n] = log sum_j exp(S_ij), in units of log 2 where `base` is "2" (flashinfer). For a query that sees no
//   key it is -inf, or +inf where `empty` is "plus_infinity" (FlashAttention 2). grad S_ij = g_i P_ij.
//
// `attention/merge`: results over parts of the keys, merged by their log-sum-exp (kinds/merged_attention.hpp).
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "reference/kinds/grouped_attention.hpp"
#include "reference/kinds/merged_attention.hpp"

namespace assay::reference::encodings {

struct attention {
  static constexpr std::string_view name = "attention";
  static core::encoding_summary summary() {
    return {.what = "attention with a bias; as kernels have it: heads in groups, windows, soft cap, sinks, log-sum-exp",
            .formula = "o_i = softmax_j(scale q_i . k_j + bias_ij) v_j",
            .sources = {{"Vaswani et al. 2017", "https://arxiv.org/abs/1706.03762"}},
            .also = {{"a learned bias of each pair", "`bias` of attention/output"},
                     {"grouped-query and multi-query attention", "`group` of attention/grouped_query"},
                     {"FlashDecoding, ring attention", "attention/merge"}}};
  }

  using traced = formula::traced;
  using traced_truth = formula::traced_truth;
  struct scheme : grouped_scheme, merge_scheme, recorded_scheme<scheme> {
    /// The logit of a key that a query does not see.
    double hidden = -std::numeric_limits<double>::infinity();
    std::function<traced(const traced& logit, const traced& cap)> capped = soft_capped;
  };
  static scheme algorithm(accuracy_class c) {
    scheme steps;
    if (c == accuracy_class::linear) {
      steps.sink_apart = true;
      steps.capped = [](const traced& s, const traced& cap) {
        const traced t = tanh_by_sigmoid(s / cap);
        return with_slope(cap * t, s, traced(1.0) - t * t);
      };
    }
    return steps;
  }
  static std::vector<recorded_formula<scheme>> formulas() {
    const std::vector<accuracy_class> cap_algorithms{accuracy_class::sequential, accuracy_class::linear};
    return {{output_declaration(), output},
            {grouped_declaration("attention/grouped_query"), grouped_query, cap_algorithms, 1},
            {sinks_declaration(), sinks, cap_algorithms, 1},
            {lse_declaration(), lse, cap_algorithms, 1},
            {merge_operation("attention/merge"), merge}};
  }

 private:
  static core::operation output_declaration();
  static core::operation grouped_declaration(const char* called);
  static core::operation sinks_declaration();
  static core::operation lse_declaration();

  static traced tanh_by_sigmoid(const traced& x) {
    const traced two(2.0);
    return two * sigmoid(two * x) - traced(1.0);
  }
  static formula::program output(const scheme& steps, const formula::program_sizes& call);
  static formula::program grouped_query(const scheme& steps, const formula::program_sizes& call);
  static formula::program sinks(const scheme& steps, const formula::program_sizes& call);
  static formula::program lse(const scheme& steps, const formula::program_sizes& call);
  static formula::program merge(const scheme& steps, const formula::program_sizes& call);

  /// Logits [B, h u, n, m], and which keys each query sees.
  struct logits_in_sight {
    traced logits;
    traced_truth seen;
    logits_in_sight(const scheme& steps, const recorded_call& in);
  };
  static reading_of_weights values(const scheme& steps, const recorded_call& in, const traced_truth& seen);
};

inline core::operation attention::output_declaration() {
  constexpr double largest = std::numeric_limits<double>::max();
  core::operation output = attention_operation("attention/output", "m",
                                               {.name = "bias",
                                                .axes = {"h", "n", "m"},
                                                .meaning = "added to the logits; -inf: the mask",
                                                .domain = {.low = -largest, .high = largest, .minus_infinity = true},
                                                .role = core::input_role::logit});
  output.source = "Vaswani et al. 2017, arXiv 1706.03762, eq. (1)";
  output.grows_with = core::with_keys;
  output.independent = {"B", "h", "n"};
  return output;
}

inline core::operation attention::grouped_declaration(const char* called) {
  core::operation op = attention_operation(called, "m");
  op.source = "Ainslie et al. 2023, arXiv 2305.13245";
  op.inputs.front().axes[1] = op.outputs.front().axes[1] = "h*u";
  op.attributes.push_back(group_setting());
  for (const auto& declared : {query_places::declared(false), query_places::windows_declared()})
    op.attributes.insert(op.attributes.end(), declared.begin(), declared.end());
  op.attributes.push_back(softcap_setting());
  op.axis_roles = {{"u", core::axis_role::parameter}};
  op.grows_with = core::with_keys;
  op.independent = {"B"};
  return op;
}

inline core::operation attention::sinks_declaration() {
  core::operation op = grouped_declaration("attention/sinks");
  op.source = "OpenAI 2025, gpt-oss, arXiv 2508.10925; Xiao et al. 2023, arXiv 2309.17453";
  constexpr double largest = std::numeric_limits<double>::max();
  op.inputs.push_back(core::parameter("sink", {"h*u"}, "logits of a key without a value; -inf: there is none",
                                      {.low = -largest, .high = largest, .minus_infinity = true}));
  return op;
}

inline core::operation attention::lse_declaration() {
  core::operation op = grouped_declaration("attention/lse");
  op.source = "Dao et al. 2022, arXiv 2205.14135, Algorithm 1";
  remove_input(op, "v");
  op.outputs = {{.name = "lse", .axes = {"B", "h*u", "n"}, .meaning = "logarithms of the sums of exp(logits)"}};
  op.attributes.push_back(choice("base", {"e", "2"}, "base of the logarithm"));
  op.attributes.push_back(
      choice("empty", {"minus_infinity", "plus_infinity"}, "which infinity is the lse of a query that sees no key"));
  op.stages.erase(op.stages.begin() + static_cast<std::ptrdiff_t>(attention_stage::output));
  op.named_only = true;
  return op;
}

inline attention::logits_in_sight::logits_in_sight(const scheme& steps, const recorded_call& in) {
  const traced q = in["q"], k = in["k"];
  const std::vector<bool> sees = recorded_places(in).all_seen();
  const double cap = in.setting<double>("softcap");
  const traced_truth all = formula::known_truths({in.size("n"), in.size("m")}, sees);
  const bool hides = std::isinf(steps.hidden);
  logits = in_stage<traced>(attention_stage::scores, [&] {
    const traced none(0.0), bias = hides ? none : either(all, none, traced(steps.hidden));
    const traced products =
        products_of_groups(q, k, "id,jd->ij", steps.adds_by_heads(in), {.sums = hides ? &all : nullptr});
    const traced s = steps.logit(products, bias, factor_of_logits(in.setting<std::string>("scale"), in.size("d")));
    return cap == 0.0 ? s : steps.capped(s, formula::setting(cap));
  });
  seen = formula::broadcast(hides ? all : all || !all, shape_of(logits));
}

inline reading_of_weights attention::values(const scheme& steps, const recorded_call& in, const traced_truth& seen) {
  const traced v = in["v"];
  return [=, by_heads = steps.adds_by_heads(in)](const traced& weights) {
    return products_of_groups(weights, v, "ij,jc->ic", by_heads, {.terms = &seen});
  };
}

inline formula::program attention::output(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced bias = in["bias"];
  const traced_truth hidden = equal(bias, traced(-std::numeric_limits<double>::infinity()));
  const traced_truth seen = broadcast(!hidden, {in.size("B"), in.size("h"), in.size("n"), in.size("m")});
  return in.finish(attended(steps, in, logits_of(steps, in, bias, seen), seen));
}

inline formula::program attention::grouped_query(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const logits_in_sight sight(steps, in);
  return in.finish(attended(steps, in, sight.logits, sight.seen, values(steps, in, sight.seen)));
}

inline formula::program attention::sinks(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const logits_in_sight sight(steps, in);
  return in.finish(
      attended_beside_sink(steps, in, sight.logits, sight.seen, in["sink"], values(steps, in, sight.seen)));
}

inline formula::program attention::lse(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const logits_in_sight sight(steps, in);
  const core::shape all_pairs = shape_of(sight.logits), rows{all_pairs[0], all_pairs[1], all_pairs[2]};
  const bool in_base_two = in.setting<std::string>("base") == "2",
             is_plus = in.setting<std::string>("empty") == "plus_infinity";
  const traced nothing((is_plus ? 1.0 : -1.0) * std::numeric_limits<double>::infinity());
  return in.finish(in_stage<traced>(attention_stage::softmax, [&] {
    if (shape_of(sight.logits).back() == 0) return nothing;
    // The weights are the derivative.
    const auto weighted = [&] { return summed(detach(steps.weights(sight.logits, sight.seen)) * sight.logits, {3}); };
    const traced all = in.is_of_gradient() ? weighted() : reshaped(steps.log_sum_exp(sight.logits, sight.seen), rows);
    return either(any_along(sight.seen, 3), in_base_two ? all / log(traced(2.0)) : all, nothing);
  }));
}

inline formula::program attention::merge(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const merge_rule rule{in.setting<std::string>("base") == "2", in.setting<std::string>("empty") == "plus_infinity"};
  const attention_parts parts{in["parts"], in["lses"]};
  const merged_parts made = steps.merge ? steps.merge(parts, rule) : merge_by_shift(parts, rule, in);
  return in.finish_all({made.o, made.lse});
}

}  // namespace assay::reference::encodings
