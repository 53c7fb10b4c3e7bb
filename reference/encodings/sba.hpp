// Stick-breaking attention (Tan, Shen, Yang, Courville and Panda, "Scaling Stick-Breaking Attention: An Efficient
// Implementation and In-depth Study", ICLR 2025, arXiv 2410.17980): weights that each key breaks off what nearer keys
// have left, and no position encoding beside,
//
//   a_ij = sigmoid(z_ij) prod_{j < l < i} (1 - sigmoid(z_il)),   r_i = prod_{l < i} (1 - sigmoid(z_il))     eq. (2)
//
// `sba/attention` is what they are for: o_i = sum_j a_ij v_j for z = scale q k^T, and + r_i v_i where `remainder` is
// "value", as the released layer has it.
//
// Shapes: logits z and weights a [B, h, n, m], remainder r [B, h, n]; q [B, h, n, d], k [B, h, m, d], v [B, h, m, e],
// o [B, h, n, e]. Queries are the last of the keys: query i stands at key i + m - n, and sees those before it, and
// itself with `attend_current`. A query that sees none has r = 1; the weight of a key that it does not see is 0, a
// constant.
//
// `softplus`: exact; linear_above_15, as shawntan/stickbreaking-attention describes it, whose softplus(z) is z for
// z > 15, so that a row may add up to 1 + 3e-7; base2, as its kernels have it (sb_varlen/softplus.py), which compare
// with 15 in units of log 2: 10.397, and 1 + 3e-5. It is another function there, with the slope 1, and no rounding.
// Special values, and what a row is: algorithms/stick_breaking.hpp. Laws: sums of softplus from the query back are of
// class sequential; products of sigmoid(-z), and log(1 + exp(z)) for softplus, of class linear, both lose exp(z) beside
// 1; sums as the total less prefix sums are of class cumsum.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "reference/algorithms/stick_breaking.hpp"
#include "reference/kinds/attention.hpp"
#include "reference/kinds/declarations.hpp"
#include "reference/kinds/query_rows.hpp"

namespace assay::reference::encodings {

struct sba {
  static constexpr std::string_view name = "sba";
  static core::encoding_summary summary() {
    return {.what = "stick-breaking attention",
            .formula = "a_ij = sigmoid(z_ij) prod_{j<k<i} sigmoid(-z_ik)",
            .sources = {{"Tan et al. 2025", "https://arxiv.org/abs/2410.17980"}}};
  }

  /// What of the weights has a format of its own.
  enum class stage { weights, softplus };

  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    /// From the logits of the keys that a query sees to their weights, and the remainder behind them.
    recipe_step<R, std::vector<R>(const std::vector<R>& logits, const stick_rule<R>& rule)> weights = stick_by_sums<R>;
  };
  template <class R>
  static recipe<R> algorithm(accuracy_class c) {
    recipe<R> how;
    if (c == accuracy_class::linear) how.weights = stick_by_product<R>;
    if (c == accuracy_class::cumsum) how.weights = stick_by_sums<R, suffix_sums_by_prefix<R>>;
    return how;
  }
  template <class R>
  static recipe<R> law(accuracy_class c) {
    recipe<R> how = algorithm<R>(c);
    if (c == accuracy_class::cumsum) how.weights = stick_by_sums<R, law_of_total_less_prefix<R>>;
    return how;
  }

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records();

 private:
  static core::operation weights_declaration();
  static core::operation attention_declaration();
  template <class R>
  struct breaking;
  template <class R>
  struct weight_rows;
  template <class R>
  struct attention_rows;
};

inline core::operation sba::weights_declaration() {
  const auto relative = [](const char* called, std::vector<std::string> axes, const char* meaning) {
    return core::tensor_declaration{.name = called,
                                    .axes = std::move(axes),
                                    .meaning = meaning,
                                    .domain = {.low = 0.0},
                                    .scale = core::error_scale::relative};
  };
  return {.name = "sba/weights",
          .source = "Tan et al. 2025, arXiv 2410.17980, eq. (2)",
          .inputs = {{.name = "z",
                      .axes = {"B", "h", "n", "m"},
                      .meaning = "logits, queries by keys; -inf: the key is transparent",
                      .domain = {.minus_infinity = true},
                      .summed_over_time = true,
                      .role = core::input_role::logit}},
          .outputs = {relative("a", {"B", "h", "n", "m"}, "weights, queries by keys"),
                      relative("r", {"B", "h", "n"}, "what a query leaves")},
          .attributes = {flag("attend_current", false, "a query sees its own key"),
                         choice("softplus", {"exact", "linear_above_15", "base2"},
                                "log(1 + exp(z)), or z beyond 15, or beyond 15 log 2")},
          .stages = {{.name = "weights", .meaning = "sums of softplus, and exponentials"},
                     {.name = "softplus", .meaning = "softplus of the logits, as the sums take it", .narrow = true}},
          .grows_with = core::with_keys,
          .independent = {"B", "h"},
          .named_only = true};
}
inline core::operation sba::attention_declaration() {
  const core::operation weights = weights_declaration();
  core::operation attention = attention_operation("sba/attention", "m", {});
  attention.inputs.pop_back();
  attention.source = weights.source;
  attention.outputs.front().meaning = "sums of the values by their weights";
  attention.outputs.push_back(weights.outputs.back());
  attention.attributes.insert(attention.attributes.end(), weights.attributes.begin(), weights.attributes.end());
  attention.attributes.push_back(choice("remainder", {"drop", "value"}, "what is left goes to the query's own value"));
  attention.stages[static_cast<std::size_t>(attention_stage::softmax)] = weights.stages.front();
  attention.stages.push_back(weights.stages.back());
  attention.grows_with = weights.grows_with;
  attention.independent = weights.independent;
  attention.named_only = weights.named_only;
  return attention;
}

/// What all queries share; `stage` is that of the softplus.
template <class R>
struct sba::breaking {
  const sba::recipe<R>& how;
  bool attend_current;
  stick_rule<R> rule;

  breaking(const arguments<R>& call, const sba::recipe<R>& steps, std::size_t stage)
      : how(steps), attend_current(call.template setting<bool>("attend_current")) {
    const int form = core::chosen<int>(call.settings, "softplus", {{"exact", 0}, {"linear_above_15", 1}, {"base2", 2}});
    const R infinite(std::numeric_limits<double>::infinity()), fifteen(15.0);
    rule = {form == 0 ? infinite : form == 1 ? fifteen : fifteen * log(R(2.0)), stage};
  }
  [[nodiscard]] std::size_t seen(std::size_t i, std::size_t n, std::size_t m) const {
    return keys_seen(i, n, m, attend_current);
  }
  /// Weights, and what is left.
  template <class Stage>
  [[nodiscard]] std::pair<std::vector<R>, R> broken(Stage of_weights, const std::vector<R>& logits) const {
    std::vector<R> all = in_stage<R>(
        of_weights, [this](const std::vector<R>& z) { return how.weights(z, rule); }, logits);
    const R left = all.back();
    all.pop_back();
    return {std::move(all), left};
  }
};

template <class R>
struct sba::weight_rows : breaking<R> {
  using recipe = sba::recipe<R>;
  const field<R>& z;

  weight_rows(const arguments<R>& call, const recipe& steps)
      : breaking<R>(call, steps, static_cast<std::size_t>(stage::softplus)), z(call["z"]) {}
  std::vector<std::vector<R>> operator()(std::size_t block, std::size_t i) const {
    const std::size_t n = z.shape(2), m = z.shape(3);
    const R* row = z.data() + (block * n + i) * m;
    auto [weights, left] = this->broken(stage::weights, std::vector<R>(row, row + this->seen(i, n, m)));
    weights.resize(m, R(0.0));
    return {std::move(weights), {left}};
  }
};

template <class R>
struct sba::attention_rows : breaking<R> {
  using recipe = sba::recipe<R>;
  attention_heads<R> all;
  bool gives_rest;

  attention_rows(const arguments<R>& call, const recipe& steps)
      : breaking<R>(call, steps, attention_stages().size()),
        all(call),
        gives_rest(core::chosen<bool>(call.settings, "remainder", {{"drop", false}, {"value", true}})) {}
  std::vector<std::vector<R>> operator()(std::size_t block, std::size_t i) const {
    using stage = attention_stage;
    const attention_head<R> head = all.at(block);
    const std::size_t n = head.queries, m = head.keys, width = head.value_width;
    const auto [weights, left] = this->broken(stage::softmax, scaled_products(head, i, this->seen(i, n, m)));
    const std::vector<R> factors = taken_by(stage::output, stage::softmax, weights);
    const R rest = taken_by(stage::output, stage::softmax, left);
    std::vector<R> out;
    for (std::size_t c = 0; c < width; ++c) {
      accumulator<R> sum;
      for (std::size_t j = 0; j < factors.size(); ++j) sum.add_product(factors[j], head.v[j * width + c]);
      if (gives_rest && i + m >= n) sum.add_product(rest, head.v[(i + m - n) * width + c]);
      out.push_back(total_in(stage::output, sum));
    }
    return {std::move(out), {left}};
  }
};

template <class R>
std::vector<sba::record<R>> sba::records() {
  const algorithm_list algorithms{accuracy_class::sequential, accuracy_class::linear, accuracy_class::cumsum};
  return {query_rows_record<weight_rows, R>(weights_declaration(), algorithms),
          query_rows_record<attention_rows, R>(attention_declaration(), algorithms)};
}

}  // namespace assay::reference::encodings
