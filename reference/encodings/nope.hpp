// Attention without positions, and the temperatures that it is given for long contexts.
//
// `nope/attention`: o_i = softmax_j(lambda_h q_i . k_j / sqrt(d)) v_j, with one number for each head (HeadScale of Wang
// et al., "Length Generalization of Causal Transformers without Position Encoding", 2024, arXiv 2404.12224;
// AntNLP/nope_head_scale, models/llama_nope.py: the query is multiplied by it). The mask alone tells the order
// (Kazemnejad et al. 2023, arXiv 2305.19466): `causal`. Shapes: q [B, h, n, d], k [B, h, m, d], v [B, h, m, e],
// head_scale [h]; o [B, h, n, e]; queries are the last of the keys. The gradient of head_scale is sum_ij G_ij S_ij /
// lambda, G that of the logits S.
//
// `nope/temperature`: what Llama 4 multiplies the queries of its layers without positions by,
//
//   f = 1 + attn_scale log(1 + floor((i + 1) / floor_scale))
//
// in f32, whatever the dtype, for positions i from 0 on (huggingface/transformers, modeling_llama4.py,
// Llama4TextAttention; meta-llama/llama-models, models/llama4/model.py). The floor is that of a quotient of integers,
// and f is 1 exactly for i < floor_scale - 1. Without `from_one` it is i in place of i + 1, as of Ministral 3
// (huggingface/transformers, modeling_ministral3.py, get_llama_4_attn_scale).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/algorithms/settings.hpp"
#include "reference/kinds/attended_rows.hpp"
#include "reference/kinds/relative_scores.hpp"
#include "reference/kinds/table.hpp"

namespace assay::reference::encodings {

struct nope {
  static constexpr std::string_view name = "nope";
  static core::encoding_summary summary() {
    return {.what = "no positions: factors of heads, and Llama 4's temperature",
            .formula = "o_i = softmax_j(lambda_h q_i . k_j / sqrt(d)) v_j",
            .sources = {{"Wang et al. 2024", "https://arxiv.org/abs/2404.12224"}},
            .also = {{"the temperature of Llama 4", "nope/temperature"}}};
  }
  static constexpr double furthest = 0x1p31;

  /// The steps that variants replace.
  template <class R>
  struct recipe : attention_steps<R>, differentiable_recipe<recipe, R> {
    /// How often a position, of which the first is 0, has passed the end of a floor; of -1 never.
    recipe_step<R, std::int64_t(std::int64_t position, std::int64_t floor_scale)> step_of =
        [](std::int64_t position, std::int64_t floor_scale) { return (position + 1) / floor_scale; };
    recipe_step<R, R(std::int64_t step, const R& attn_scale)> temperature = [](std::int64_t step, const R& attn_scale) {
      if (step == 0) return R(1.0);
      return R(1.0) + attn_scale * log(index_number<R>(static_cast<double>(1 + step)));
    };
  };

  template <class R>
  static std::vector<operation_record<R, recipe<R>>> records() {
    return {query_rows_record<attention_rows, R>(attention_declaration()),
            table_record<nope, R, temperatures<R>>(temperature_declaration())};
  }

 private:
  static core::operation attention_declaration();
  static core::operation temperature_declaration();
  template <class R>
  static rows<R> temperatures(const arguments<R>& call, const recipe<R>& how) {
    return {1, [&how, &position = call.integers.at("position").values.storage(),
                first = call.template setting<bool>("from_one") ? 1 : 0,
                attn_scale = call.template setting<double>("attn_scale"),
                floor_scale = call.template setting<std::int64_t>("floor_scale")](std::size_t i, R* row) {
              const auto at = static_cast<std::int64_t>(std::clamp(position[i], 0.0, furthest));
              *row = in_stage<R>(std::size_t{0}, [&] {
                return how.temperature(how.step_of(at + first - 1, floor_scale), from_setting<R>(attn_scale));
              });
            }};
  }
  template <class R>
  struct attention_rows;
};

inline core::operation nope::attention_declaration() {
  core::operation attention =
      attention_operation("nope/attention", "m", core::parameter("head_scale", {"h"}, "factor of a head's queries"));
  attention.source = "Wang et al. 2024, arXiv 2404.12224";
  attention.attributes.push_back(flag("causal", true, "a query sees no key behind its own"));
  attention.grows_with = core::with_keys;
  attention.independent = {"B", "h"};
  return attention;
}
inline core::operation nope::temperature_declaration() {
  return {.name = "nope/temperature",
          .source = "huggingface/transformers, modeling_llama4.py, Llama4TextAttention",
          .inputs = {core::integers("position", {"n"}, "position of the query, from 0", {0, furthest},
                                    core::input_role::position)},
          .outputs = {{.name = "f",
                       .axes = {"n"},
                       .meaning = "factor of the query",
                       .domain = {.low = 1.0},
                       .scale = core::error_scale::relative}},
          .attributes = {integer("floor_scale", {8192, 1, 100}, {1, furthest}, "positions of a step"),
                         real("attn_scale", {0.1, 1.0}, {.low = 0.0, .high = 16.0}, "factor of the logarithm"),
                         since({0, 2}, flag("from_one", true, "the first position counts as 1; else as 0"))},
          .stages = {{.name = "temperature", .meaning = "the logarithm, its factor, and the sum"}},
          .named_only = true};
}

template <class R>
struct nope::attention_rows {
  using recipe = nope::recipe<R>;
  const field<R>&q, &k, &v, &head_scale;
  const recipe& how;
  std::string scale;
  bool causal;

  attention_rows(const arguments<R>& call, const recipe& steps)
      : q(call["q"]),
        k(call["k"]),
        v(call["v"]),
        head_scale(call["head_scale"]),
        how(steps),
        scale(call.template setting<std::string>("scale")),
        causal(call.template setting<bool>("causal")) {}
  std::vector<std::vector<R>> operator()(std::size_t block, std::size_t i) const {
    const std::size_t n = q.shape(2), m = k.shape(2), width = q.shape(3), e = v.shape(3);
    const std::size_t seen = causal ? keys_seen(i, n, m, true) : m;
    const R *query = q.data() + (block * n + i) * width, *values = v.data() + block * m * e;
    const std::vector<R> logits = in_stage<R>(attention_stage::scores, [&] {
      const R factor = logit_scale<R>(scale, width), &lambda = head_scale.data()[block % q.shape(1)];
      std::vector<R> scaled, s;
      for (std::size_t c = 0; c < width; ++c) scaled.push_back(lambda * query[c]);
      for (std::size_t j = 0; j < seen; ++j)
        s.push_back(factor * product_of(scaled.data(), k.data() + (block * m + j) * width, width));
      return s;
    });
    return {attended(logits, std::vector<std::vector<R>>{{values, values + seen * e}}, e, how)};
  }
};

}  // namespace assay::reference::encodings
