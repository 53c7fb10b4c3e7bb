// The decay of forgetting attention (Lin et al., "Forgetting Transformer: Softmax Attention with a Forget Gate",
// ICLR 2025, arXiv 2503.02130): a logit bias from forget gates f_t in (0, 1),
//
//   D_ij = log f_{j+1} + ... + log f_i for j <= i, and -inf for j > i (the causal mask)              section 3
//
// Shapes: log_f, g [B, n, h], one gate for each head and token; D [B, h, n, n], queries by keys. Tokens count from 1.
// f_1 is in no D. `fox/decay` takes log f, `fox/gated_decay` takes the gate logits g with log f = log_sigmoid(g).
// `fox/attention` uses the decay: o = softmax(scale q k^T + D) v for q, k [B, h, n, d], v [B, h, n, e].
//
// `fox/cached_decay` and `fox/cached_attention` have n queries that are the last of m keys, as with a cache: query i
// stands at key i + m - n. log_f [B, m, h] belongs to the keys; D [B, h, n, m], k [B, h, m, d], v [B, h, m, e]. Keys
// before `first_key` [B] are padding on the left: D = -inf, and neither they nor their gates are seen. Prefix sums
// include all gates nevertheless: class cumsum allows for it. A query whose keys are all padding has o = 0 and
// gradients 0, as in zhixuan-lin/forgetting-transformer.
//
// Special values: log f = -inf (f = 0) makes D = -inf for the pairs that it separates and leaves all others alone: a
// reset. NaN reaches the pairs that it separates. Gradients: D is linear in log f, so every cotangent at j <= i counts;
// cotangents above the diagonal belong to a constant.
#pragma once

#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "reference/kinds/attention.hpp"

namespace assay::reference::encodings {

struct fox {
  static constexpr std::string_view name = "fox";
  static core::encoding_summary summary() {
    return {.what = "attention with forget gates",
            .formula = "o_i = softmax_j(q_i . k_j / sqrt(d) + log f_{j+1} + ... + log f_i) v_j",
            .sources = {{"Lin et al. 2025", "https://arxiv.org/abs/2503.02130"}}};
  }

  using traced = formula::traced;
  using traced_integer = formula::traced_integer;
  using traced_truth = formula::traced_truth;
  struct scheme : attention_scheme, recorded_scheme<scheme> {
    /// Takes log f of the keys [B, h, 1, m], and the key at which each query stands [n, 1]. Gives the sums after each
    /// key up to that of the query [B, h, n, m]. Later keys are not read.
    std::function<traced(const traced& gates, const traced_integer& own)> sums = sums_behind_keys;
    std::function<traced_integer(std::size_t n, std::size_t m)> own_keys = [](std::size_t n, std::size_t m) {
      return reshaped(formula::counted(n), {n, 1}) +
             traced_integer::constant(static_cast<std::int64_t>(m) - static_cast<std::int64_t>(n));
    };
    std::function<traced(const traced& g)> gate = [](const traced& g) { return log_sigmoid(g); };
    double hidden = -std::numeric_limits<double>::infinity();  ///< D of keys that are not seen
  };

  /// There is no algorithm of class tree: sums of segments by trees are covered by sequential ones.
  static scheme algorithm(accuracy_class c) {
    scheme steps;
    if (c == accuracy_class::cumsum) steps.sums = totals_less_prefixes;
    return steps;
  }
  static std::vector<recorded_formula<scheme>> formulas() {
    const std::vector<accuracy_class> all{accuracy_class::sequential, accuracy_class::cumsum};
    core::operation cached = cached_operation(decay_declaration(false));
    cached.outputs.front().axes.back() = "m";
    cached.attributes = {
        integer("queries", {1, 2, 5}, {1, 0x1p20}, "how many queries there are, the last ones of the tokens", "n")};
    return {{decay_declaration(false), decay, all},
            {decay_declaration(true), decay, all},
            {attention_declaration(false), attention, all},
            {cached, decay, all},
            {cached_operation(attention_declaration(true)), attention, all}};
  }

  /// The keys up to the key of each query, [n, m].
  static traced_truth up_to(const traced_integer& own, std::size_t m) { return !less(own, formula::counted(m)); }
  /// The gates of these keys, and 0 in place of later ones.
  static traced gates_up_to(const traced& gates, const traced_integer& own) {
    return either(up_to(own, shape_of(gates)[keys]), gates, traced(0.0));
  }
  /// The sums after each key, from the sums from each key on.
  static traced behind(const traced& from_each) {
    const core::shape s = shape_of(from_each);
    if (s[keys] == 0) return from_each;
    return formula::joined({between(from_each, keys, 1, s[keys]), broadcast(traced(0.0), {s[0], s[1], s[2], 1})}, keys);
  }
  /// The element of each query at its own key. Precondition: there is one.
  template <class X>
  static X at_own_keys(const X& x, const traced_integer& own) {
    const core::shape s = shape_of(x), queries = shape_of(own);
    return reshaped(gathered(x, reshaped(own, {queries[0]}), keys), {s[0], s[1], queries[0], 1});
  }
  static traced differences_of_prefixes(const traced& gates, const traced_integer& own) {
    if (shape_of(own)[0] == 0) return sums_behind_keys(gates, own);
    const traced prefixes = cumulative_sum_twice(gates);
    return at_own_keys(between(prefixes, keys - 1, 0, 1), own) - between(prefixes, keys - 1, 1, 2);
  }
  static constexpr std::size_t keys = 3;  ///< the axis of keys

 private:
  static traced sums_behind_keys(const traced& gates, const traced_integer& own) {
    return behind(sums_from_each_on(gates_up_to(gates, own), keys));
  }
  /// The sums as published, with prefix sums. The own key's empty sum is the difference of equal numbers. The gradient
  /// is that of prefix sums: sums of rows and of columns of cotangents cancel in it, including those of own keys.
  static traced totals_less_prefixes(const traced& gates, const traced_integer& own) {
    const traced sums = behind(sums_from_each_on_by_total(gates_up_to(gates, own), keys));
    return recorded(formula::op::with_gradient_of,
                    either(equal(own, formula::counted(shape_of(gates)[keys])), traced(0.0), sums),
                    differences_of_prefixes(gates, own));
  }
  static core::operation decay_declaration(bool takes_logits);
  static core::operation attention_declaration(bool cached);
  static core::operation cached_operation(core::operation op);
  /// The keys that are seen in a call [B, h, n, m], and their decay.
  struct decays_of_seen;
  static formula::program decay(const scheme& steps, const formula::program_sizes& call);
  static formula::program attention(const scheme& steps, const formula::program_sizes& call);

  static constexpr std::size_t decay_stage = 4;  // the stage after those of attention
  static constexpr core::value_domain decays{-std::numeric_limits<double>::infinity(), 0.0, true};
  static constexpr const char* source = "Lin et al. 2025, arXiv 2503.02130, section 3";
};

inline core::operation fox::decay_declaration(bool takes_logits) {
  return {.name = takes_logits ? "fox/gated_decay" : "fox/decay",
          .source = source,
          .inputs = {{.name = takes_logits ? "g" : "log_f",
                      .axes = {"B", "n", "h"},
                      .meaning = takes_logits ? "gate logits, log f = log sigmoid(g)" : "log forget gates",
                      .domain = takes_logits ? core::value_domain{} : decays,
                      .summed_over_time = true,
                      .role = core::input_role::logit}},
          // The output is a sum of logarithms that are all at most 0: nothing cancels.
          .outputs = {{.name = "D",
                       .axes = {"B", "h", "n", "n"},
                       .meaning = "logit bias, queries by keys",
                       .domain = decays,
                       .scale = core::error_scale::relative}},
          .grows_with = core::with_tokens,
          .independent = {"B", "h"}};
}
inline core::operation fox::attention_declaration(bool cached) {
  core::operation attention =
      attention_operation("fox/attention", cached ? "m" : "n", decay_declaration(false).inputs.front());
  attention.source = source;
  // The decay is in f32, whatever the dtype, as in zhixuan-lin/forgetting-transformer
  // (src/forgetting_transformer/ops/forgetting_attention.py: log_fgate.float() before torch.cumsum).
  attention.stages.push_back({.name = "decay", .meaning = "sums of log f"});
  attention.grows_with = core::with_tokens;
  attention.independent = {"B", "h"};
  return attention;
}
/// The same operation with n queries that are the last of m keys.
inline core::operation fox::cached_operation(core::operation op) {
  op.name.insert(op.name.find('/') + 1, "cached_");
  op.inputs.back().axes = {"B", "m", "h"};
  op.inputs.push_back(core::integers("first_key", {"B"}, "keys before it are padding: nothing of them is seen",
                                     {0.0, 0x1p31}, core::input_role::value));
  op.grows_with = core::with_keys;
  op.conflict = [](const core::attributes&, const core::axis_sizes& sizes) -> std::string {
    return sizes.at("n") <= sizes.at("m") ? "" : "queries are the last of the keys: n is at most m";
  };
  return op;
}

struct fox::decays_of_seen {
  traced_truth seen;
  traced by_head, decay;
  traced_integer own;

  decays_of_seen(const scheme& steps, const recorded_call& in, const traced& gates) {
    const core::shape shape_of_gates = shape_of(gates);  // [B, m, h]
    const std::size_t m = shape_of_gates[1], n = in.size("n");
    const core::shape all{shape_of_gates[0], shape_of_gates[2], n, m};
    own = steps.own_keys(n, m);
    seen = broadcast(up_to(own, m), all);
    if (in.has("first_key"))
      seen = seen && !less(formula::counted(m), reshaped(in.integers("first_key"), {shape_of_gates[0], 1, 1, 1}));
    by_head = reshaped(transposed(gates, {0, 2, 1}), {shape_of_gates[0], shape_of_gates[2], 1, m});
    decay = either(seen, steps.sums(by_head, own), traced(steps.hidden));
  }
  /// Whether there is a gate of 0 between query and key, which hides the key.
  [[nodiscard]] traced_truth has_reset() const {
    const traced_truth is_reset = equal(by_head, traced(-std::numeric_limits<double>::infinity()));
    const traced_integer one = traced_integer::constant(1), none = traced_integer::constant(0);
    const traced_integer until = cumulative_sum(either(is_reset, one, none), keys);
    return shape_of(own)[0] == 0 ? !seen : less(until, at_own_keys(until, own));
  }
};

inline formula::program fox::decay(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  return in.finish(decays_of_seen(steps, in, in.has("g") ? steps.gate(in["g"]) : in["log_f"]).decay);
}

/// Attention with the decay as the bias of each head.
inline formula::program fox::attention(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced gates = in["log_f"];
  const decays_of_seen decays = in_stage<traced>(decay_stage, [&] { return decays_of_seen(steps, in, gates); });
  const traced_truth seen = std::isinf(steps.hidden) ? decays.seen && !decays.has_reset() : decays.seen || !decays.seen;
  return in.finish(attended(steps, in, logits_of(steps, in, decays.decay, seen), seen));
}

}  // namespace assay::reference::encodings
