// Additive GRAPE (Zhang et al. 2025, "Group representational position encoding", arXiv 2512.07805): logit biases that
// the tokens themselves set. The rotations, multiplicative GRAPE, are polar/grape_rotation.
//
//   grape/gated_bias  B_ij = -(i - j) omega (softplus(c v . q_i) + softplus(c u . k_j))   GRAPE-A: ALiBi with gates
//   grape/path_bias   D_ij = sum_{l = j+1 .. i} slope log_sigmoid(p_i . y_l / d)          GRAPE-AP, and -inf for j > i
//
// Shapes: q, k, p, y [B, n, h, d]; v, u [h, d], omega and slopes [h], shared by all rows and tokens. B and D are the
// output `bias` [B, h, n, n], queries by keys. D is the decay of forgetting attention (fox.hpp) with gates that also
// depend on the query. `gates`: both terms, or one; the inputs of the other term have gradients of 0. `scale`: c is
// 1 / sqrt(d), or 1. `future`: keys after the query have the bias -inf, or that of the distance 0. `softplus`: see
// kinds/softplus.hpp.
//
// The released code (model-architectures/GRAPE, model/llama-mha-grape-a-*.py) first divides u and v by their lengths,
// and its omega is softplus(omega) times the slope of ALiBi. It limits distances to 0 and above, which is `future`
// "zero". In f16 and bf16, products of features have that dtype; their sum and all later steps are in f32. In GRAPE-AP
// (llama-mha-grape-ap-v1.py) p is not normalised. y is p over its root mean square, with its halves as pairs, each
// turned by minus one radian a token.
//
// Special values: NaN in q_i reaches its row, and NaN in k_j its column, also at the distance 0, but no masked pair.
// NaN in p_i reaches its row except its own key; NaN in y_l reaches all keys before l for the queries from l on. At the
// distance 0 gradients are 0.
//
// Laws: all terms of a bias have the same sign, and only the products cancel: errors are relative. softplus: see
// kinds/softplus.hpp. Sums of a segment are of class sequential. The sum of a row less its cumulative sum, as
// published, is of class cumsum: its error grows with the sum of the whole row, also at the query's own key, and a
// NaN among its terms makes the whole row NaN.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/core/special_values.hpp"
#include "reference/kinds/attention.hpp"
#include "reference/kinds/pair_declarations.hpp"
#include "reference/kinds/softplus.hpp"

namespace assay::reference::encodings {

struct grape {
  static constexpr std::string_view name = "grape";
  static core::encoding_summary summary() {
    return {.what = "biases that tokens set: gated distances, sums of log gates along the path (additive GRAPE)",
            .formula =
                "B_ij = -(i - j) omega (softplus(v . q_i) + softplus(u . k_j)); "
                "D_ij = sum_{j<l<=i} slope log sigmoid(p_i . y_l / d)",
            .sources = {{"Zhang et al. 2025", "https://arxiv.org/abs/2512.07805"}},
            .also = {{"GRAPE-A", "grape/gated_bias"}, {"GRAPE-AP", "grape/path_bias"}}};
  }

  using traced = formula::traced;
  using truth = formula::traced_truth;
  enum class stage { products, bias, scores = 0, sums };  ///< two stages of gated_bias, then two of path_bias
  /// The steps that variants replace.
  struct scheme : recorded_scheme<scheme> {
    std::function<traced(const traced& x)> softplus_of = [](const traced& x) { return softplus(x); };
    /// The gate from a sum of products and its factor.
    std::function<traced(const std::function<traced(const traced&)>& softplus, const traced& sum, const traced& factor)>
        gate = [](const auto& softplus, const traced& sum, const traced& factor) { return softplus(factor * sum); };
    /// Gates [B, h, n, 1], one for each query or for each key, as they broadcast to pairs [B, h, n, n].
    std::function<traced(const traced& gates)> gates_by_query = as_given;
    std::function<traced(const traced& gates)> gates_by_key = turned;
    /// The distance of queries [n, 1] and keys [n]; it is used where the key is not after the query.
    std::function<traced(const formula::traced_integer& query, const formula::traced_integer& key)> distance =
        [](const auto& query, const auto& key) { return to_real(query - key); };
    /// 1 / width, the factor of the scores.
    std::function<traced(std::size_t width)> over_width = [](std::size_t width) {
      return width == 0 ? traced(1.0) : power(formula::setting(static_cast<double>(width)), ratio(-1, 1));
    };
    /// p_i . y_l where the query sees the key, and 0 elsewhere [B, h, n, n].
    std::function<traced(const truth& seen, const traced& p, const traced& y)> products =
        [](const truth& seen, const auto& p, const auto& y) { return contracted_at(seen, p, y, "bihd,bjhd->bhij"); };
    std::function<traced(const traced& score)> log_gate = [](const traced& score) { return log_sigmoid(score); };
    /// Whether the log gate of a key counts for a query.
    std::function<truth(const truth& seen)> counts = [](const truth& seen) { return seen; };
    /// The sums of the terms after each key.
    std::function<traced(const traced& terms)> sums = [](const traced& terms) {
      return behind(terms, formula::sums_from_each_on);
    };
  };
  static scheme algorithm(accuracy_class c) {
    scheme steps;
    if (c == accuracy_class::linear) steps.softplus_of = log_of_sum;
    if (c == accuracy_class::cumsum)
      steps.sums = [](const traced& terms) { return behind(terms, formula::sums_from_each_on_by_total); };
    return steps;
  }
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{gated_declaration(), gated, {accuracy_class::sequential, accuracy_class::linear}},
            {path_declaration(), path, {accuracy_class::sequential, accuracy_class::cumsum}}};
  }
  static constexpr std::size_t keys = 3;  ///< the axis of keys

  static traced as_given(const traced& gates) { return gates; }
  static traced turned(const traced& gates) { return transposed(gates, {0, 1, 3, 2}); }
  /// The sums from the next key on, taken from sums that start at each key; a term of 0 stands after the last key.
  static traced behind(const traced& terms, traced (*sums)(const traced& x, std::size_t axis)) {
    const core::shape s = shape_of(terms);
    const traced none = broadcast(traced(0.0), {s[0], s[1], s[2], 1});
    return between(sums(formula::joined({terms, none}, keys), keys), keys, 1, s[keys] + 1);
  }

 private:
  static constexpr const char* source = "Zhang et al. 2025, arXiv 2512.07805, and its released code";
  static core::operation gated_declaration();
  static core::operation path_declaration();
  static traced gate_of(const scheme& steps, const recorded_call& in, const char* tokens, const char* vector);
  /// Whether the key is not after the query [B, h, n, n].
  static truth seen_keys(const recorded_call& in) {
    const std::size_t n = in.size("n");
    const truth seen_pairs = formula::known_truths({n, n}, seen_by_last_queries(n, n, true));
    return broadcast(seen_pairs, {in.size("B"), in.size("h"), n, n});
  }
  static core::tensor_declaration tokens(const char* called, const char* meaning, bool are_summed = false) {
    return {.name = called, .axes = {"B", "n", "h", "d"}, .meaning = meaning, .summed_over_time = are_summed};
  }
  static formula::program gated(const scheme& steps, const formula::program_sizes& call);
  static formula::program path(const scheme& steps, const formula::program_sizes& call);
};

inline core::operation grape::gated_declaration() {
  return {.name = "grape/gated_bias",
          .source = source,
          .inputs = {tokens("q", "queries"), tokens("k", "keys"),
                     core::parameter("v", {"h", "d"}, "vectors that queries meet, as they are used"),
                     core::parameter("u", {"h", "d"}, "vectors that keys meet, as they are used"),
                     core::parameter("omega", {"h"}, "slopes, as they are used", {.low = 0.0})},
          .outputs = {{.name = "bias",
                       .axes = {"B", "h", "n", "n"},
                       .meaning = "logit bias, queries by keys",
                       .domain = {-core::infinity, 0.0, true},
                       .scale = core::error_scale::relative}},
          .attributes = {choice("gates", {"query_and_key", "query", "key"}, "which terms the rate of a pair has"),
                         choice("scale", {"inverse_sqrt", "one"},
                                "what v . q and u . k are multiplied by: 1 / sqrt(d), or 1"),
                         choice("future", {"masked", "zero"},
                                "what keys after the query have: the bias -inf, or that of the distance 0"),
                         softplus_setting("what the gate of a large x is")},
          .stages = {{.name = "products", .meaning = "features of tokens times those of vectors", .narrow = true},
                     {.name = "bias", .meaning = "their sums, softplus of these, and what that is multiplied by"},
                     {.name = std::string(core::accumulation), .meaning = "the sums of products, and in gradients"}},
          .independent = {"B", "h"}};
}

inline core::operation grape::path_declaration() {
  return {.name = "grape/path_bias",
          .source = source,
          .inputs = {tokens("p", "tokens as queries", true), tokens("y", "tokens as keys, scaled and turned", true),
                     core::parameter("slopes", {"h"}, "what log gates are multiplied by", {.low = 0.0})},
          .outputs = gated_declaration().outputs,
          .stages = {{.name = "scores", .meaning = "p . y / d", .narrow = true},
                     {.name = "sums", .meaning = "log sigmoid of the scores, times the slope, and their sums"},
                     {.name = std::string(core::accumulation), .meaning = "the sums of p . y"}},
          .grows_with = core::with_tokens,
          .independent = {"B", "h"}};
}

/// The gate of each token, [B, h, n, 1].
inline grape::traced grape::gate_of(const scheme& steps, const recorded_call& in, const char* tokens,
                                    const char* vector) {
  const traced products = in_stage<traced>(stage::products, [&] { return in[tokens] * in[vector]; });
  return in_stage<traced>(stage::bias, [&] {
    const auto softplus = [&](const traced& x) { return softplus_by_setting(in, steps.softplus_of, x); };
    const traced factor = factor_of_logits(in.setting<std::string>("scale"), in.size("d"));
    return reshaped(transposed(steps.gate(softplus, summed(products, {3}), factor), {0, 2, 1}),
                    {in.size("B"), in.size("h"), in.size("n"), 1});
  });
}

inline formula::program grape::gated(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  for (const char* input : {"q", "k", "v", "u"})
    static_cast<void>(in[input]);  // inputs of the program also where `gates` leaves them out
  const traced omega = reshaped(in["omega"], {in.size("h"), 1, 1});
  const std::string& gates = in.setting<std::string>("gates");
  std::vector<traced> rates;
  if (gates != "key") rates.push_back(steps.gates_by_query(gate_of(steps, in, "q", "v")));
  if (gates != "query") rates.push_back(steps.gates_by_key(gate_of(steps, in, "k", "u")));
  const auto places = formula::counted(in.size("n"));
  return in.finish(in_stage<traced>(stage::bias, [&] {
    const truth seen = seen_keys(in);
    const traced distance = either(seen, steps.distance(reshaped(places, {in.size("n"), 1}), places), traced(0.0));
    const traced rate = rates.size() == 1 ? rates.front() : rates.front() + rates.back();
    const traced bias = -(distance * omega) * rate;
    return future_keys(in.settings()).treatment == future_keys::rule::masked
               ? either(seen, bias, traced(-core::infinity))
               : bias;
  }));
}

inline formula::program grape::path(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const truth seen = seen_keys(in);
  const traced p = in["p"], y = in["y"], slopes = reshaped(in["slopes"], {in.size("h"), 1, 1});
  const truth counts = steps.counts(seen);
  const traced scores =
      in_stage<traced>(stage::scores, [&] { return steps.products(counts, p, y) * steps.over_width(in.size("d")); });
  return in.finish(in_stage<traced>(stage::sums, [&] {
    const traced terms = either(counts, steps.log_gate(scores) * slopes, traced(0.0));
    return either(seen, steps.sums(terms), traced(-core::infinity));
  }));
}

}  // namespace assay::reference::encodings
