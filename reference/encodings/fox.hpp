// The decay of forgetting attention (Lin et al., "Forgetting Transformer: Softmax Attention with a Forget Gate",
// ICLR 2025, arXiv 2503.02130): a logit bias from forget gates f_t in (0, 1),
//
//   D_ij = log f_{j+1} + ... + log f_i for j <= i, and -inf for j > i (the causal mask)              section 3
//
// Shapes: log_f, g [B, n, h], one gate a head and token; D [B, h, n, n], queries by keys. Tokens count from 1.
// f_1 stands in no D. `fox/decay` takes log f, `fox/gated_decay` the gate logits g, log f = log_sigmoid(g).
// `fox/attention` is what the decay is for: o = softmax(scale q k^T + D) v for q, k [B, h, n, d], v [B, h, n, e].
//
// `fox/cached_decay` and `fox/cached_attention` have n queries that are the last of m keys, as a cache has them: query
// i stands at key i + m - n. log_f [B, m, h] is of the keys, D [B, h, n, m], k [B, h, m, d], v [B, h, m, e]. Keys
// before `first_key` [B] are padding on the left: D = -inf, and nothing of them is seen, their gates neither, but by
// prefix sums, which have them all the same: class cumsum allows for it. A query
// all of whose keys are padding has o = 0 and gradients 0, as zhixuan-lin/forgetting-transformer has it.
//
// Special values: log f = -inf (f = 0) makes D = -inf for the pairs that it separates and leaves all others alone:
// a reset. NaN reaches the pairs that it separates. Gradients: D is linear in log f, so a cotangent counts wherever
// it stands at j <= i; those above the diagonal belong to a constant.
#pragma once

#include <limits>
#include <string_view>

#include "reference/algorithms/segment_sums.hpp"
#include "reference/algorithms/suffix_sums.hpp"
#include "reference/kinds/attention.hpp"
#include "reference/kinds/declarations.hpp"
#include "reference/kinds/query_rows.hpp"

namespace assay::reference::encodings {

struct fox {
  static constexpr std::string_view name = "fox";
  static core::encoding_summary summary() {
    return {.what = "attention with forget gates",
            .formula = "o_i = softmax_j(q_i . k_j / sqrt(d) + log f_{j+1} + ... + log f_i) v_j",
            .sources = {{"Lin et al. 2025", "https://arxiv.org/abs/2503.02130"}}};
  }

  /// How one head of one row is computed: what algorithms, accuracy classes and mutants replace. The blocks are
  /// n x n; sums leaves above the diagonal what stands there.
  template <class R>
  struct recipe : attention_steps<R>, differentiable_recipe<recipe, R> {
    recipe_step<R, void(const_lane<R> a, R* decay)> sums = segment_sums<R>;
    /// Of one query: from the gates of all keys up to its own, and a 0, to their sums from each on.
    recipe_step<R, std::vector<R>(const std::vector<R>& gates)> row = suffix_sums<R>;
    /// How many of m keys query i of n may see.
    recipe_step<R, std::size_t(std::size_t i, std::size_t n, std::size_t m)> seen =
        [](std::size_t i, std::size_t n, std::size_t m) { return keys_seen(i, n, m, true); };
    recipe_step<R, R(const R& g)> gate = [](const R& g) { return log_sigmoid(g); };
  };

  /// Sums of segments have no shorter tree of their own.
  template <class R>
  static recipe<R> algorithm(accuracy_class c) {
    recipe<R> how;
    if (c == accuracy_class::cumsum) how.sums = segment_sums_by_prefix<R>, how.row = suffix_sums_by_prefix<R>;
    return how;
  }
  template <class R>
  static recipe<R> law(accuracy_class c) {
    recipe<R> how;
    if (c == accuracy_class::cumsum) how.sums = law_of_prefix_differences<R>, how.row = law_of_total_less_prefix<R>;
    return how;
  }

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records();

 private:
  static core::operation decay_declaration(bool of_logits);
  static core::operation attention_declaration(bool cached);
  static core::operation of_cache(core::operation op);
  template <bool of_logits, class R>
  static record<R> decay_record();
  template <bool of_logits, class R>
  static fields<R> decay(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> cached_decay(const arguments<R>& call, const recipe<R>& how);
  /// D of the last n queries of a lane of m gates, [n, m].
  template <class R>
  static void last_rows(const_lane<R> a, std::size_t n, double first_key, const recipe<R>& how, R* out);
  template <class R>
  struct heads;
  template <class R>
  struct cached_heads;

  static algorithm_list algorithms() { return {accuracy_class::sequential, accuracy_class::cumsum}; }
  static constexpr std::size_t decay_stage = 4;  // the one after those of attention
  static constexpr core::value_domain decays{-std::numeric_limits<double>::infinity(), 0.0, true};
  static constexpr const char* source = "Lin et al. 2025, arXiv 2503.02130, section 3";
};

inline core::operation fox::decay_declaration(bool of_logits) {
  return {.name = of_logits ? "fox/gated_decay" : "fox/decay",
          .source = source,
          .inputs = {{.name = of_logits ? "g" : "log_f",
                      .axes = {"B", "n", "h"},
                      .meaning = of_logits ? "gate logits, log f = log sigmoid(g)" : "log forget gates",
                      .domain = of_logits ? core::value_domain{} : decays,
                      .summed_over_time = true,
                      .role = core::input_role::logit}},
          // A sum of logarithms that are all at most 0: nothing cancels.
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
  // In f32, whatever the dtype, as zhixuan-lin/forgetting-transformer has it
  // (src/forgetting_transformer/ops/forgetting_attention.py: log_fgate.float() before torch.cumsum).
  attention.stages.push_back({.name = "decay", .meaning = "sums of log f"});
  attention.grows_with = core::with_tokens;
  attention.independent = {"B", "h"};
  return attention;
}
/// The same with n queries that are the last of m keys.
inline core::operation fox::of_cache(core::operation op) {
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

template <class R>
std::vector<fox::record<R>> fox::records() {
  core::operation decay = of_cache(decay_declaration(false));
  decay.outputs.front().axes.back() = "m";
  decay.attributes = {integer("queries", {1, 2, 5}, {1, 0x1p20}, "number of queries", "n")};
  return {decay_record<false, R>(),
          decay_record<true, R>(),
          attention_record<heads, R>(attention_declaration(false), algorithms()),
          {.declaration = std::move(decay),
           .algorithms = algorithms(),
           .forward = cached_decay<R>,
           .vjp = derived_vjp<fox, R>,
           .jvp = not_offered},
          attention_record<cached_heads, R>(of_cache(attention_declaration(true)), algorithms())};
}

template <bool of_logits, class R>
fox::record<R> fox::decay_record() {
  return {.declaration = decay_declaration(of_logits),
          .algorithms = algorithms(),
          .forward = decay<of_logits, R>,
          .vjp = derived_vjp<fox, R>,
          .jvp = not_offered};
}

template <bool of_logits, class R>
fields<R> fox::decay(const arguments<R>& call, const recipe<R>& how) {
  field<R> a = call[of_logits ? "g" : "log_f"];
  const std::size_t rows = a.shape(0), n = a.shape(1), heads = a.shape(2);
  if constexpr (of_logits)
    for (R& x : a.storage()) x = how.gate(x);
  field<R> decay = make_field<R>({rows, heads, n, n});
  for (R& x : decay.storage()) x = R(-std::numeric_limits<double>::infinity());
  for (std::size_t k = 0; k < rows * heads; ++k)
    how.sums({a.data() + k / heads * n * heads + k % heads, heads, n}, decay.data() + k * n * n);
  return {{"D", std::move(decay)}};
}

template <class R>
void fox::last_rows(const_lane<R> a, std::size_t n, double first_key, const recipe<R>& how, R* out) {
  const std::size_t m = a.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t seen = how.seen(i, n, m);
    std::vector<R> gates;
    for (std::size_t l = 0; l < seen; ++l) gates.push_back(a[l]);
    gates.push_back(R(0.0));  // D of the query's own key: exact, and of the sums as all others are
    const std::vector<R> from = how.row(gates);
    for (std::size_t j = 0; j < m; ++j, ++out)
      *out =
          j >= seen || static_cast<double>(j) < first_key ? R(-std::numeric_limits<double>::infinity()) : from[j + 1];
  }
}

template <class R>
fields<R> fox::cached_decay(const arguments<R>& call, const recipe<R>& how) {
  const field<R>& a = call["log_f"];
  const std::size_t rows = a.shape(0), m = a.shape(1), heads = a.shape(2),
                    n = static_cast<std::size_t>(call.template setting<std::int64_t>("queries"));
  field<R> decay = make_field<R>({rows, heads, n, m});
  for (std::size_t k = 0; k < rows * heads; ++k)
    last_rows<R>({a.data() + k / heads * m * heads + k % heads, heads, m}, n,
                 call.integers.at("first_key").values(k / heads), how, decay.data() + k * n * m);
  return {{"D", std::move(decay)}};
}

/// The decay as the bias of each head.
template <class R>
struct fox::heads {
  using recipe = fox::recipe<R>;
  const field<R>& gates;
  const recipe& how;

  heads(const arguments<R>& call, const recipe& steps) : gates(call["log_f"]), how(steps) {}
  [[nodiscard]] std::vector<R> bias(std::size_t row, std::size_t head) const {
    return in_stage<R>(decay_stage, [&] {
      const std::size_t n = gates.shape(1), stride = gates.shape(2);
      std::vector<R> decay(n * n, R(-std::numeric_limits<double>::infinity()));
      how.sums({gates.data() + row * n * stride + head, stride, n}, decay.data());  // of the gates, which are exact
      return decay;
    });
  }
};

template <class R>
struct fox::cached_heads {
  using recipe = fox::recipe<R>;
  const field<R>&q, &gates;
  const core::tensor& first_key;
  const recipe& how;

  cached_heads(const arguments<R>& call, const recipe& steps)
      : q(call["q"]), gates(call["log_f"]), first_key(call.integers.at("first_key")), how(steps) {}
  [[nodiscard]] std::vector<R> bias(std::size_t row, std::size_t head) const {
    return in_stage<R>(decay_stage, [&] {
      const std::size_t n = q.shape(2), m = gates.shape(1), stride = gates.shape(2);
      std::vector<R> decay(n * m);
      last_rows<R>({gates.data() + row * m * stride + head, stride, m}, n, first_key.values(row), how, decay.data());
      return decay;
    });
  }
};

}  // namespace assay::reference::encodings
