// Dot-product attention: with an additive bias of the logits, what relative encodings add to and what every later
// encoding is observed through (kinds/attention.hpp), and as kernels offer it (Dao-AILab/flash-attention, flashinfer).
//
// `attention/output`: bias [h, n, m], shared by the rows of the batch; -inf is the mask. It is added to the scaled
// product: code that scales both (Falcon's ALiBi) computes another function.
//
// `attention/grouped_query`, `attention/sinks`, `attention/lse`: no bias, but settings that hide keys and cap logits.
// Heads h u of queries meet h heads of keys and values, `group` = u one behind the other (Ainslie et al. 2023, arXiv
// 2305.13245; the gradients of k and v are sums over them). `causal`, `alignment`, `window_left` and `window_right`:
// see kinds/attention_of_places.hpp; a window of w keys with the query's own, as in Mistral, is window_left = w - 1.
// `softcap` c: logits are c tanh(scale q . k / c) before keys are hidden (Gemma 2, arXiv 2408.00118); 0: none. Laws of
// these three: tanh(x) is of class sequential, and 2 sigmoid(2x) - 1, as Triton kernels have it, of class linear.
//
// - sinks: `sink` [h u] is the logit of one more key of each head, whose weight goes to nobody (gpt-oss; Xiao et al.
//   2023, arXiv 2309.17453). A query that sees no key gives 0. o sigmoid(lse - sink) of the o and lse of the keys, as
//   pytorch/torchtitan has it, is of class linear: its gradient loses what the sink takes beside 1.
// - lse [B, h u, n] = log sum_j exp(S_ij), in units of log 2 where `base` is "2" (flashinfer). Of a query that sees no
//   key it is -inf, or +inf where `empty` is "plus_infinity" (FlashAttention 2). grad S_ij = g_i P_ij.
//
// `attention/merge`: results over parts of the keys, merged by their log-sum-exp (kinds/merged_attention.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/kinds/attention.hpp"
#include "reference/kinds/attention_of_places.hpp"
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

  template <class R>
  struct recipe : attention_steps<R>, merge_steps<R>, differentiable_recipe<recipe, R> {
    /// The logit of a key that a query does not see.
    double hidden = -std::numeric_limits<double>::infinity();
    R (*log_sum_exp)(const std::vector<R>& logits) = log_sum_of_row<R>;
  };
  template <class R>
  static recipe<R> algorithm(accuracy_class c) {
    recipe<R> how;
    if (c == accuracy_class::linear) {
      how.sink_apart = true;
      how.capped = [](const auto& s, const auto& cap) { return cap * tanh_by_sigmoid(s / cap); };
      how.slope_of_cap = [](const auto& s, const auto& cap) {
        const auto t = tanh_by_sigmoid(s / cap);
        return decltype(t + t)(1.0) - t * t;
      };
    }
    return how;
  }

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    const algorithm_list of_cap{accuracy_class::sequential, accuracy_class::linear};
    return {attention_record<heads, R>(output_declaration()),
            attention_record<heads_in_sight, R>(grouped_declaration("attention/grouped_query"), of_cap),
            attention_record<heads_in_sight, R>(sinks_declaration(), of_cap),
            {lse_declaration(), of_cap, lse<R>, lse_vjp<R>, not_offered},
            query_rows_record<merged, R>(merge_operation("attention/merge"))};
  }

 private:
  static core::operation output_declaration();
  static core::operation grouped_declaration(const char* called);
  static core::operation sinks_declaration();
  static core::operation lse_declaration();

  template <class R>
  static R tanh_by_sigmoid(const R& x) {
    return R(2.0) * sigmoid(R(2.0) * x) - R(1.0);
  }

  template <class R>
  using merged = merged_rows<R, recipe<R>>;
  template <class R>
  struct heads {
    using recipe = attention::recipe<R>;
    const field<R>& given;

    heads(const arguments<R>& call, const recipe&) : given(call["bias"]) {}
    [[nodiscard]] std::vector<R> bias(std::size_t, std::size_t head) const {
      const std::size_t pairs = given.shape(1) * given.shape(2);
      return {given.data() + head * pairs, given.data() + (head + 1) * pairs};
    }
  };

  /// 0 for a key that a query sees.
  template <class R>
  struct heads_in_sight {
    using recipe = attention::recipe<R>;
    std::vector<R> of_pairs;

    heads_in_sight(const arguments<R>& call, const recipe& how) : heads_in_sight(call, how.hidden) {}
    heads_in_sight(const arguments<R>& call, double hidden) {
      const std::size_t n = call["q"].shape(2), m = call["k"].shape(2);
      const query_places places(call.settings, n, m);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < m; ++j) of_pairs.push_back(R(places.sees(i, j) ? 0.0 : hidden));
    }
    [[nodiscard]] const std::vector<R>& bias(std::size_t, std::size_t) const { return of_pairs; }
  };

  /// What a logarithm is multiplied by for the base of a call.
  template <class R>
  static R in_base(const arguments<R>& call, const R& x) {
    if (core::chosen<bool>(call.settings, "base", {{"e", true}, {"2", false}})) return x;
    return in_stage<R>(
        attention_stage::softmax, [](const R& y) { return y / log(R(2.0)); }, x);
  }
  template <class R>
  static fields<R> lse(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> lse_vjp(const arguments<R>& call, const recipe<R>& how);
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
  core::operation op = attention_operation(called, "m", {});
  op.source = "Ainslie et al. 2023, arXiv 2305.13245";
  op.inputs.pop_back();
  op.inputs.front().axes[1] = op.outputs.front().axes[1] = "h*u";
  op.attributes.push_back(integer("group", {1, 2, 3}, {1.0, 0x1p20}, "heads of q to a head of k and v", "u"));
  for (const auto& declared : {query_places::declared(false), query_places::windows_declared()})
    op.attributes.insert(op.attributes.end(), declared.begin(), declared.end());
  op.attributes.push_back(
      real("softcap", {0.0, 50.0, 1.5}, {0.0, 0x1p20}, "logits s become softcap tanh(s / softcap); 0: they stay"));
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
  op.inputs.pop_back();  // v
  op.outputs = {{.name = "lse", .axes = {"B", "h*u", "n"}, .meaning = "logarithms of the sums of exp(logits)"}};
  op.attributes.push_back(choice("base", {"e", "2"}, "of the logarithm"));
  op.attributes.push_back(choice("empty", {"minus_infinity", "plus_infinity"}, "lse of a query that sees no key"));
  op.stages.erase(op.stages.begin() + static_cast<std::ptrdiff_t>(attention_stage::output));
  op.named_only = true;
  return op;
}

template <class R>
fields<R> attention::lse(const arguments<R>& call, const recipe<R>& how) {
  if constexpr (is_adjoint<R>) {
    throw core::contract_violation("the gradient of " + call.operation + " goes head by head");
  } else {
    const heads_in_sight<R> formula(call, how);
    const attention_heads<R> all(call);
    const field<R>& q = call["q"];
    const double of_none =
        core::chosen<double>(call.settings, "empty", {{"minus_infinity", -1.0}, {"plus_infinity", 1.0}}) *
        std::numeric_limits<double>::infinity();
    field<R> out = make_field<R>({q.shape(0), q.shape(1), q.shape(2)});
    for (std::size_t number = 0; number < all.count(); ++number)
      for (std::size_t i = 0; i < q.shape(2); ++i) {
        const attention_head<R> head = all.at(number);
        const std::vector<R> logits = attention_logits(head, i, formula.of_pairs.data() + i * head.keys, how);
        const bool has_key =
            !std::all_of(logits.begin(), logits.end(), [](const R& s) { return is_minus_infinity(s); });
        out.data()[number * q.shape(2) + i] =
            has_key ? in_base(call, in_stage<R>(attention_stage::softmax, how.log_sum_exp, logits)) : R(of_none);
      }
    return {{"lse", std::move(out)}};
  }
}

template <class R>
fields<R> attention::lse_vjp(const arguments<R>& call, const recipe<R>& how) {
  if constexpr (carries_derivatives<R>) {
    throw core::contract_violation("no second derivative of " + call.operation);
  } else {
    tape<R> graph;
    const lifted_inputs<R> lifted(call, *find_operation(core::operation_name(call.operation).forward));
    const recipe<adjoint<R>> steps = how.of_gradient ? recipe<adjoint<R>>(*how.of_gradient) : recipe<adjoint<R>>{};
    const heads_in_sight<R> formula(call, steps.hidden);
    const attention_heads<R> all(call);
    std::vector<attention_gradients<R>> group;
    for (std::size_t number = all.count(); number-- > 0;) {
      const attention_head<R> head = all.at(number);
      const std::size_t m = head.keys;
      group.emplace_back(head);
      std::vector<R> slopes(m);
      for (std::size_t i = 0; i < head.queries; ++i) {
        const R* row = formula.of_pairs.data() + i * m;
        const std::vector<R> weights = weights_of<R>(head, attention_logits<R>(head, i, row, steps, &slopes), steps);
        const R g = in_base(call, call["grad_lse"].data()[number * head.queries + i]);
        for (std::size_t j = 0; j < m; ++j)
          if (!is_minus_infinity(row[j]))
            group.back().add(head, i, j, product_in(attention_stage::softmax, g, weights[j]), slopes[j]);
      }
      put_gradients<R>(graph, lifted.first, all, number, group, steps);
    }
    return lifted.gradients();
  }
}

}  // namespace assay::reference::encodings
