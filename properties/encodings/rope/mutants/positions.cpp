// Wrong positions.
#include <algorithm>

#include "properties/encodings/rope/mutants/edits.hpp"
#include "properties/encodings/rope/mutants/mutants.hpp"

namespace assay::properties::encodings::rope {
namespace {

struct offset_dropped : unchanged_rope {
  static void edit(request& call) {
    edit_positions(call,
                   [](auto given, std::size_t row, std::size_t token) { return given(row, token) - given(row, 0); });
  }
};
struct single_query_at_zero : unchanged_rope {
  static void edit(request& call) {
    edit_positions(
        call, [tokens = call.inputs.contains("position") ? call.inputs.at("position").shape()[1] : 0](
                  auto given, std::size_t row, std::size_t token) { return tokens == 1 ? 0.0 : given(row, token); });
  }
};
struct positions_of_first_row : unchanged_rope {
  static void edit(request& call) {
    edit_positions(call, [](auto given, std::size_t, std::size_t token) { return given(0, token); });
  }
};
struct index_as_position : unchanged_rope {
  static void edit(request& call) {
    edit_positions(call, [](auto, std::size_t, std::size_t token) { return static_cast<double>(token); });
  }
};

// Positions changed one by one, all of them or integers alone.
template <double (*change)(double m), bool integers_alone = false>
struct changed_positions : unchanged_rope {
  static void edit(request& call) {
    if (integers_alone && call.operation->input("theta")) return;
    edit_each_position(call, change);
  }
};
double doubled(double m) { return 2.0 * m; }
double counted_from_one(double m) { return m + 1.0; }
double in_bf16(double m) { return core::round_to(core::dtype::bf16, m); }
double in_f16(double m) { return core::round_to(core::dtype::f16, m); }
// Of a table for 2048 positions.
double at_most_last_row(double m) { return std::min(m, 2047.0); }
double one_row_short(double m) { return m == 2047.0 ? 2046.0 : m; }
double unrotated_beyond(double m) { return m < 2048.0 ? m : 0.0; }

// Every token has the position of the first: a table sliced along the wrong axis.
struct position_of_first_token : unchanged_rope {
  static void edit(request& call) {
    edit_positions(call, [](auto given, std::size_t row, std::size_t) { return given(row, 0); });
  }
};
// Slots of a cache from the first token on: right until tokens between them are dropped.
struct slot_as_position : unchanged_rope {
  static void edit(request& call) {
    edit_positions(call, [](auto given, std::size_t row, std::size_t token) {
      return given(row, 0) + static_cast<double>(token);
    });
  }
};

// The tensor with its tokens and heads exchanged.
core::tensor transposed(const core::tensor& t) {
  const core::shape s = t.shape();
  core::tensor other = core::zeros(t.type, {s[0], s[2], s[1], s[3]});
  for (std::size_t k = 0; k < t.size(); ++k) {
    const std::size_t coordinate = k % s[3], head = k / s[3] % s[2], token = k / s[3] / s[2] % s[1],
                      row = k / s[3] / s[2] / s[1];
    other.values.storage()[((row * s[2] + head) * s[1] + token) * s[3] + coordinate] = t.values.storage()[k];
  }
  return other;
}
// Positions along the heads, the last one for all heads beyond them.
struct positions_of_heads : unchanged_rope {
  static bool concerns(const request& call) {
    return call.operation->name.starts_with("rope/rotate") && call.operation->input("theta") == nullptr &&
           call.inputs.at("position").size() > 0;
  }
  static void edit(request& call) {
    if (!concerns(call)) return;
    for (const char* name : {"x", "grad_y"})
      if (const auto t = call.inputs.find(name); t != call.inputs.end()) t->second = transposed(t->second);
    core::tensor& position = call.inputs.at("position");
    const std::size_t tokens = position.shape()[1];
    std::vector<std::size_t> of_heads(call.inputs.at("x").shape()[1]);
    for (std::size_t h = 0; h < of_heads.size(); ++h) of_heads[h] = std::min(h, tokens - 1);
    position = core::take(position, 1, of_heads);
  }
  static void finish(const request& call, core::tensors& outputs) {
    if (!concerns(call)) return;
    for (auto& [name, t] : outputs) t = transposed(t);
  }
};

}  // namespace

std::vector<variant> position_mutants() {
  return {
      make_variant<offset_dropped>("mutant/rope_offset_dropped", "RP08 flashinfer-ai/flashinfer#847",
                                   "every row starts at position 0"),
      make_variant<single_query_at_zero>("mutant/rope_single_query_at_zero", "RP10 RobertCsordas/moeut#6",
                                         "a single token is at position 0"),
      make_variant<index_as_position>("mutant/rope_index_as_position", "RP09 warpfront/hipfire#391",
                                      "the token's index instead of its position"),
      make_variant<positions_of_first_row>("mutant/rope_positions_of_first_row", "RP22 unslothai/unsloth#3699",
                                           "all rows have the positions of the first"),
      make_variant<changed_positions<doubled>>("mutant/rope_positions_doubled", "RP14 ml-explore/mlx-lm#1553",
                                               "twice the position"),
      make_variant<changed_positions<counted_from_one>>("mutant/rope_counted_from_one",
                                                        "RP18 vllm-project/vllm#55910: +1", "positions count from 1"),
      make_variant<changed_positions<in_bf16>>("mutant/rope_positions_in_bf16", "huggingface/candle#3520",
                                               "positions are rounded to bf16"),
      make_variant<changed_positions<in_f16, true>>("mutant/rope_positions_in_f16", "vllm-project/vllm#1004",
                                                    "integer positions are rounded to f16"),
      make_variant<changed_positions<at_most_last_row>>("mutant/rope_positions_clamped", "RP18 vllm-project/vllm#55910",
                                                        "positions from 2048 on are 2047"),
      make_variant<changed_positions<one_row_short>>("mutant/rope_table_one_short", "RP18 microsoft/onnxruntime#28205",
                                                     "position 2047 is 2046"),
      make_variant<changed_positions<unrotated_beyond>>("mutant/rope_unrotated_beyond_table",
                                                        "a masked load of fla-org/flash-linear-attention",
                                                        "positions from 2048 on are not rotated"),
      make_variant<position_of_first_token>("mutant/rope_position_of_first_token",
                                            "RP19 PaddlePaddle/PaddleNLP#7882, huggingface/transformers#25813",
                                            "every token has the position of the first"),
      make_variant<slot_as_position>("mutant/rope_slot_as_position", "RP09 rajveer43/VeloxQuant-MLX#389",
                                     "tokens count on from the first, though some between them were dropped"),
      make_variant<positions_of_heads>("mutant/rope_positions_of_heads",
                                       "RP14 ml-explore/mlx-lm#1553, mlfoundations/open_lm#4: the axis of heads",
                                       "positions run along the heads instead of the tokens"),
  };
}

}  // namespace assay::properties::encodings::rope
