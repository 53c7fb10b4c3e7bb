// Declarations of operations whose scores have terms of relative positions (relative_scores.hpp).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reference/kinds/attention_declarations.hpp"

namespace assay::reference {

/// For f16 and bf16: products of matrices in the dtype of the tensors, added up in f32 and cast, as in eager attention
/// (DisentangledSelfAttention of microsoft/DeBERTa, RelPartialLearnableMultiHeadAttn of kimiyoung/transformer-xl).
inline std::vector<core::stage_declaration> score_stages() {
  std::vector<core::stage_declaration> all{attention_stages().front(), attention_stages().back()};
  all.front().meaning = "sums of vectors, their products, and the sum and scale of those";
  all.back().meaning = "the sums of those products";
  return all;
}

/// An operation that computes scores; `keys` is the axis symbol of the keys.
inline core::operation relative_scores(const char* called, const char* keys) {
  core::operation scores = attention_operation(called, keys);
  remove_input(scores, "v");
  scores.attributes.clear();  // each encoding has the factor of its own definition
  scores.outputs = {{.name = "s",
                     .axes = {"B", "h", "n", keys},
                     .meaning = "scores, queries by keys",
                     .scale = core::error_scale::by_row}};
  scores.stages = score_stages();
  scores.independent = {"B", "h"};
  return scores;
}

/// Adds parameters [h, d], by name and meaning.
inline void add_vectors_of_heads(core::operation& to, const std::vector<std::pair<const char*, const char*>>& named) {
  for (const auto& [called, meaning] : named) to.inputs.push_back(core::parameter(called, {"h", "d"}, meaning));
}

}  // namespace assay::reference
