// Wrong positions.
#include <algorithm>

#include "properties/encodings/rope/mutants/mutants.hpp"

namespace assay::properties::encodings::rope {
namespace {

using positions = xt::xarray<double>;  // of rows and tokens

// Another position for each token, by those that were given. Nothing is rounded to the dtype of the positions.
std::function<void(request&)> with_position(double (*at)(const positions& given, std::size_t row, std::size_t token)) {
  return [at](request& call) {
    const auto found = call.inputs.find("position");
    if (found == call.inputs.end()) return;
    const positions given = found->second.values;
    for (std::size_t row = 0; row < given.shape(0); ++row)
      for (std::size_t token = 0; token < given.shape(1); ++token)
        found->second.values(row, token) = at(given, row, token);
  };
}
// The same, by its own position alone.
std::function<void(request&)> with_each_position(double (*change)(double m)) {
  return [change](request& call) {
    const auto found = call.inputs.find("position");
    if (found == call.inputs.end()) return;
    for (double& m : found->second.values.storage()) m = change(m);
  };
}

// Of rope/rotate, with tokens and heads exchanged.
core::tensor transposed(const core::tensor& t) {
  const core::shape s = t.shape();
  core::tensor other = core::zeros(t.type, {s[0], s[2], s[1], s[3]});
  for (std::size_t row = 0; row < s[0]; ++row)
    for (std::size_t token = 0; token < s[1]; ++token)
      for (std::size_t head = 0; head < s[2]; ++head)
        for (std::size_t k = 0; k < s[3]; ++k) other.values(row, head, token, k) = t.values(row, token, head, k);
  return other;
}
bool rotates_tokens(const request& call) {
  return call.operation->name.starts_with("rope/rotate") && call.operation->input("theta") == nullptr &&
         call.inputs.at("position").size() > 0;
}
// The last position stands for all heads beyond them.
void heads_as_tokens(request& call) {
  if (!rotates_tokens(call)) return;
  for (const char* name : {"x", "grad_y"})
    if (const auto t = call.inputs.find(name); t != call.inputs.end()) t->second = transposed(t->second);
  core::tensor& position = call.inputs.at("position");
  const std::size_t tokens = position.shape()[1];
  std::vector<std::size_t> of_heads(call.inputs.at("x").shape()[1]);
  for (std::size_t h = 0; h < of_heads.size(); ++h) of_heads[h] = std::min(h, tokens - 1);
  position = core::take(position, 1, of_heads);
}
void tokens_again(core::tensors& outputs, const request& call) {
  if (!rotates_tokens(call)) return;
  for (auto& [name, t] : outputs) t = transposed(t);
}

}  // namespace

std::vector<variant> position_mutants() {
  return {
      changed_rope("mutant/rope_offset_dropped", "RP08 flashinfer-ai/flashinfer#847", "every row starts at position 0",
                   {.inputs = with_position([](const positions& m, std::size_t row, std::size_t token) {
                      return m(row, token) - m(row, 0);
                    })}),
      changed_rope("mutant/rope_single_query_at_zero", "RP10 RobertCsordas/moeut#6", "a single token is at position 0",
                   {.inputs = with_position([](const positions& m, std::size_t row, std::size_t token) {
                      return m.shape(1) == 1 ? 0.0 : m(row, token);
                    })}),
      changed_rope("mutant/rope_index_as_position", "RP09 warpfront/hipfire#391",
                   "the token's index instead of its position",
                   {.inputs = with_position(
                        [](const positions&, std::size_t, std::size_t token) { return static_cast<double>(token); })}),
      changed_rope(
          "mutant/rope_positions_of_first_row", "RP22 unslothai/unsloth#3699",
          "all rows have the positions of the first",
          {.inputs = with_position([](const positions& m, std::size_t, std::size_t token) { return m(0, token); })}),
      changed_rope("mutant/rope_positions_doubled", "RP14 ml-explore/mlx-lm#1553", "twice the position",
                   {.inputs = with_each_position([](double m) { return 2.0 * m; })}),
      changed_rope("mutant/rope_counted_from_one", "RP18 vllm-project/vllm#55910: +1", "positions count from 1",
                   {.inputs = with_each_position([](double m) { return m + 1.0; }), .telling = true}),
      changed_rope("mutant/rope_positions_in_bf16", "huggingface/candle#3520", "positions are rounded to bf16",
                   {.inputs = with_each_position([](double m) { return core::round_to(core::dtype::bf16, m); })}),
      changed_rope("mutant/rope_positions_in_f16", "vllm-project/vllm#1004", "integer positions are rounded to f16",
                   {.inputs =
                        [](request& call) {
                          if (!call.operation->input("theta")) round_each(call.inputs, "position", core::dtype::f16);
                        }}),
      // Of a table for 2048 positions.
      changed_rope("mutant/rope_positions_clamped", "RP18 vllm-project/vllm#55910", "positions from 2048 on are 2047",
                   {.inputs = with_each_position([](double m) { return std::min(m, 2047.0); })}),
      changed_rope("mutant/rope_table_one_short", "RP18 microsoft/onnxruntime#28205", "position 2047 is 2046",
                   {.inputs = with_each_position([](double m) { return m == 2047.0 ? 2046.0 : m; })}),
      changed_rope("mutant/rope_unrotated_beyond_table", "a masked load of fla-org/flash-linear-attention",
                   "positions from 2048 on are not rotated",
                   {.inputs = with_each_position([](double m) { return m < 2048.0 ? m : 0.0; })}),
      // A table sliced along the wrong axis.
      changed_rope(
          "mutant/rope_position_of_first_token", "RP19 PaddlePaddle/PaddleNLP#7882, huggingface/transformers#25813",
          "every token has the position of the first",
          {.inputs = with_position([](const positions& m, std::size_t row, std::size_t) { return m(row, 0); })}),
      // Slots of a cache from the first token on: right until tokens between them are dropped.
      changed_rope("mutant/rope_slot_as_position", "RP09 rajveer43/VeloxQuant-MLX#389",
                   "tokens count on from the first, though some between them were dropped",
                   {.inputs = with_position([](const positions& m, std::size_t row, std::size_t token) {
                      return m(row, 0) + static_cast<double>(token);
                    })}),
      changed_rope(
          "mutant/rope_positions_of_heads", "RP14 ml-explore/mlx-lm#1553, mlfoundations/open_lm#4: the axis of heads",
          "positions run along the heads instead of the tokens", {.inputs = heads_as_tokens, .outputs = tokens_again}),
  };
}

}  // namespace assay::properties::encodings::rope
