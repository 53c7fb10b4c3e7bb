// Attention without positions, and temperatures for it in long contexts.
//
// `nope/attention`: o_i = softmax_j(lambda_h q_i . k_j / sqrt(d)) v_j, with one number for each head (HeadScale of Wang
// et al., "Length Generalization of Causal Transformers without Position Encoding", 2024, arXiv 2404.12224;
// AntNLP/nope_head_scale, models/llama_nope.py: the query is multiplied by this number). The mask alone carries the
// order (Kazemnejad et al. 2023, arXiv 2305.19466): `causal`. Shapes: q [B, h, n, d], k [B, h, m, d], v [B, h, m, e],
// head_scale [h]; o [B, h, n, e]; queries are the last of the keys. The gradient of head_scale is sum_ij G_ij S_ij /
// lambda, where G is the gradient of the logits S.
//
// `nope/temperature`: the factor by which Llama 4 multiplies the queries of its layers without positions,
//
//   f = 1 + attn_scale log(1 + floor((i + 1) / floor_scale))
//
// in f32, whatever the dtype, for positions i from 0 on (huggingface/transformers, modeling_llama4.py,
// Llama4TextAttention; meta-llama/llama-models, models/llama4/model.py). The floor is the floor of a quotient of
// integers, and f is exactly 1 for i < floor_scale - 1. Without `from_one`, i takes the place of i + 1, as in Ministral
// 3 (huggingface/transformers, modeling_ministral3.py, get_llama_4_attn_scale).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "reference/kinds/attention.hpp"
#include "reference/kinds/temperature.hpp"

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

  using traced = formula::traced;
  using index = formula::traced_integer;
  /// The steps that variants replace.
  struct scheme : attention_scheme, recorded_scheme<scheme> {
    /// The number of whole floors, of `floor_scale` positions each, among the positions 0 to `position`.
    std::function<index(const index& position, const index& floor_scale)> step_of = [](const index& position,
                                                                                       const index& floor_scale) {
      return floor_divide(position + index::constant(1), floor_scale);
    };
    std::function<traced(const index& step, const traced& attn_scale)> temperature = temperature_of_step;
  };
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{attention_declaration(), attention}, {temperature_declaration(), temperature}};
  }

 private:
  static core::operation attention_declaration();
  static core::operation temperature_declaration();
  static formula::program attention(const scheme& steps, const formula::program_sizes& call);
  static formula::program temperature(const scheme& steps, const formula::program_sizes& call);
};

inline core::operation nope::attention_declaration() {
  core::operation attention =
      attention_operation("nope/attention", "m", core::parameter("head_scale", {"h"}, "factor of a head's queries"));
  attention.source = "Wang et al. 2024, arXiv 2404.12224";
  attention.attributes.push_back(flag("causal", true, "whether a query sees no key after its own"));
  attention.grows_with = core::with_keys;
  attention.independent = {"B", "h"};
  return attention;
}
inline core::operation nope::temperature_declaration() {
  return {
      .name = "nope/temperature",
      .source = "huggingface/transformers, modeling_llama4.py, Llama4TextAttention",
      .inputs = {core::integers("position", {"n"}, "position of the query, from 0", {0, furthest},
                                core::input_role::position)},
      .outputs = {{.name = "f",
                   .axes = {"n"},
                   .meaning = "factor of the query",
                   .domain = {.low = 1.0},
                   .scale = core::error_scale::relative}},
      .attributes = {integer("floor_scale", {8192, 1, 100}, {1, furthest}, "how many positions share a temperature"),
                     real("attn_scale", {0.1, 1.0}, {.low = 0.0, .high = 16.0}, "what multiplies the logarithm"),
                     since({0, 2},
                           flag("from_one", true, "whether the first position counts as 1; else it counts as 0"))},
      .stages = {{.name = "temperature", .meaning = "the logarithm, its factor, and the sum"}},
      .independent = {"n"},
      .named_only = true};
}

inline formula::program nope::attention(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced q = in["q"], k = in["k"], lambda = reshaped(in["head_scale"], {in.size("h"), 1, 1});
  const auto seen = seen_of(in, seen_by_last_queries(in.size("n"), in.size("m"), in.setting<bool>("causal")));
  const traced logits = in_stage<traced>(attention_stage::scores, [&] {
    return factor_of_logits(in.setting<std::string>("scale"), in.size("d")) *
           contracted_at(seen, lambda * q, k, "bhid,bhjd->bhij");
  });
  return in.finish(attended(steps, in, logits, seen));
}

inline formula::program nope::temperature(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const index position = clamp(in.integers("position"), 0, static_cast<std::int64_t>(furthest)),
              first = index::constant(in.setting<bool>("from_one") ? 0 : -1),
              floor_scale = index::constant(in.setting<std::int64_t>("floor_scale"));
  const traced attn_scale = in.number("attn_scale");
  return in.finish(in_stage<traced>(
      std::size_t{0}, [&] { return steps.temperature(steps.step_of(position + first, floor_scale), attn_scale); }));
}

}  // namespace assay::reference::encodings
