// Declarations of operations that are part of attention (attention.hpp).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/algorithms/attention_stage.hpp"
#include "reference/core/operation.hpp"
#include "reference/kinds/declarations.hpp"
#include "reference/primitives/power.hpp"

namespace assay::reference {

/// For f16 and bf16: matrix products in that dtype, added up in f32; the softmax in f32, and its weights cast back, as
/// in eager attention of huggingface/transformers (LlamaAttention.forward in
/// src/transformers/models/llama/modeling_llama.py, BloomAttention.forward in
/// src/transformers/models/bloom/modeling_bloom.py). Fused kernels (Dao-AILab/flash-attention) keep the scores in f32
/// and cast only the weights: their errors are smaller.
inline std::vector<core::stage_declaration> attention_stages() {
  return {{.name = "scores", .meaning = "scale q . k + bias", .narrow = true},
          {.name = "softmax", .meaning = "exponentials of the scores, their sum and the quotient"},
          {.name = "output", .meaning = "the weights as they multiply v, and o", .narrow = true},
          {.name = std::string(core::accumulation), .meaning = "the sums of q . k and of weights times v"}};
}

/// An attention operation with the inputs q, k and v; `keys` is the axis symbol of the keys.
inline core::operation attention_operation(const char* called, const char* keys) {
  using std::string;
  return {.name = called,
          .inputs = {{.name = "q", .axes = {"B", "h", "n", "d"}, .meaning = "queries"},
                     {.name = "k", .axes = {"B", "h", keys, "d"}, .meaning = "keys"},
                     {.name = "v", .axes = {"B", "h", keys, "e"}, .meaning = "values"}},
          // The output is linear in the values: an error scale of 1 would mean nothing for it.
          .outputs = {{.name = "o",
                       .axes = {"B", "h", "n", "e"},
                       .meaning = "weighted means of the values",
                       .scale = core::error_scale::by_row}},
          .attributes = {{.name = "scale",
                          .meaning = "what q . k is multiplied by: 1 / sqrt(d), or 1",
                          .standard = string("inverse_sqrt"),
                          .values = {string("inverse_sqrt"), string("one")}}},
          .stages = attention_stages()};
}
/// The same, with one more input: the one from which the bias is made.
inline core::operation attention_operation(const char* called, const char* keys, core::tensor_declaration bias_input) {
  core::operation op = attention_operation(called, keys);
  op.inputs.push_back(std::move(bias_input));
  return op;
}
/// Takes an input away from an operation.
inline void remove_input(core::operation& from, std::string_view called) {
  std::erase_if(from.inputs, [called](const core::tensor_declaration& d) { return d.name == called; });
}

/// The setting `scale` for attention without a softmax.
inline core::attribute_declaration scale_of_outputs() {
  return choice("scale", {"inverse_sqrt", "one"}, "what outputs are multiplied by: 1 / sqrt(d), or 1");
}

/// The exponent of the width in a factor, by the setting of the factor; without features every factor is 1.
inline rational factor_exponent(const std::string& setting, std::size_t width) {
  const long halves = core::chosen<long>(setting, {{"one", 0}, {"inverse_sqrt", -1}, {"sqrt", 1}});
  return width == 0 ? ratio(0, 1) : ratio(halves, 2);
}

}  // namespace assay::reference
