#include "properties/mutants/rope.hpp"

#include <algorithm>
#include <cmath>

#include "properties/mutants/rope_edits.hpp"

namespace assay::properties {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary

struct wrong_layout : unchanged_rope {
  static void edit(request& call) {
    edit_setting<std::string>(call, "layout", [](const std::string& layout) {
      return std::string(layout == "half_split" ? "interleaved" : "half_split");
    });
  }
};
struct layout_ignored : unchanged_rope {
  static void edit(request& call) {
    edit_setting<std::string>(call, "layout", [](const std::string&) { return std::string("half_split"); });
  }
};

// The table of frequencies has a column for the coordinate that is left over.
struct pairs_rounded_up : unchanged_rope {
  template <class R>
  static rope::recipe<R> recipe() {
    rope::recipe<R> how;
    how.steps = [](std::size_t features, std::size_t pairs) {
      return pairs == features / 2 ? (features + 1) / 2 : pairs;
    };
    return how;
  }
};
struct exponent_of_whole_head : unchanged_rope {
  template <class R>
  static rope::recipe<R> recipe() {
    rope::recipe<R> how;
    how.steps = [](std::size_t features, std::size_t) { return features / 2; };
    return how;
  }
};
// As tensor2tensor spaces the frequencies of sinusoids.
struct slowest_is_whole_base : unchanged_rope {
  template <class R>
  static rope::recipe<R> recipe() {
    rope::recipe<R> how;
    how.steps = [](std::size_t, std::size_t pairs) { return std::max<std::size_t>(pairs, 2) - 1; };
    return how;
  }
};

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

struct frequencies_in_bf16 : unchanged_rope {
  template <class R>
  static rope::recipe<R> recipe() {
    rope::recipe<R> how;
    how.frequency = [](const R& base, std::size_t t, std::size_t steps) {
      return R(core::round_to(core::dtype::bf16, geometric_frequency<R>(base, t, steps).number));
    };
    return how;
  }
};
struct tables_in_bf16 : unchanged_rope {
  template <class R>
  static rope::recipe<R> recipe() {
    rope::recipe<R> how;
    how.rotation_at = [](const R& position, const R& theta) {
      rotation<R> r(position * theta);
      for (R* x : {&r.cosine, &r.sine}) *x = R(core::round_to(core::dtype::bf16, x->number));
      return r;
    };
    return how;
  }
};
// All in the storage dtype, where f32 is declared.
struct angles_in_storage : unchanged_rope {
  static constexpr bool narrow = true;
  static core::dtype arithmetic(core::dtype storage) { return storage; }
  static void declare(description& about) {
    for (const core::dtype t : {core::dtype::f16, core::dtype::bf16}) about.compute[t] = core::dtype::f32;
  }
};

struct base_always_scaled : unchanged_rope {
  static void edit(request& call) {
    if (call.operation->attribute("scaling") == nullptr) return;
    const bool scaled =
        core::setting<std::string>(core::completed(*call.operation, call.attributes), "scaling") != std::string("none");
    if (scaled) return;
    call.attributes["scaling"] = std::string("ntk");
    call.attributes["factor"] = 2.0;
  }
};
struct interpolated_twice : unchanged_rope {
  static void edit(request& call) {
    const auto squared = [](double s) { return s * s; };
    edit_setting<double>(call, "position_scale", squared);
    edit_setting<double>(call, "factor", squared);
  }
};
struct interpolation_inverted : unchanged_rope {
  static void edit(request& call) {
    double scale = 1.0;
    edit_setting<double>(call, "position_scale", [&](double s) {
      scale = s;
      return 1.0;
    });
    edit_each_position(call, [&](double m) { return m * scale; });
  }
};
struct base_times_factor : unchanged_rope {
  template <class R>
  static rope::recipe<R> recipe() {
    rope::recipe<R> how;
    how.stretch = [](const R& factor, std::size_t t, std::size_t pairs) {
      return geometric_frequency<R>(factor, t, pairs);
    };
    return how;
  }
};
struct fixed_base : unchanged_rope {
  static void edit(request& call) {
    edit_setting<double>(call, "base", [](double) { return 10000.0; });
  }
};

struct turned_the_other_way : unchanged_rope {
  template <class R>
  static rope::recipe<R> recipe() {
    rope::recipe<R> how;
    how.forward = turned_back<R>;
    how.backward = turned<R>;
    return how;
  }
};
struct sine_and_cosine_swapped : unchanged_rope {
  template <class R>
  static rope::recipe<R> recipe() {
    rope::recipe<R> how;
    how.forward = [](const coordinate_pair<R>& x, const rotation<R>& by) -> coordinate_pair<R> {
      return {x.first * by.cosine - x.second * by.sine, x.first * by.cosine + x.second * by.sine};
    };
    return how;
  }
};

// The coordinates that do not rotate, overwritten.
struct rest_is_zero : unchanged_rope {
  static void finish(const request& call, core::tensors& outputs) {
    if (!call.inputs.contains("x")) return;
    core::tensor& t = outputs.at(call.operation->is_vjp() ? "grad_x" : "y");
    const std::size_t features = t.shape()[3], rotated = 2 * pairs_of(call);
    for (std::size_t k = 0; k < t.size(); ++k)
      if (k % features >= rotated) t.values.storage()[k] = 0.0;
  }
};

template <class Variant>
variant make(const char* id, const char* models, const char* what) {
  return make_variant_of<rope, Variant>(id, models, what);
}

}  // namespace

std::vector<variant> rope_mutants() {
  std::vector<variant> all{
      make<wrong_layout>("mutant/rope_wrong_layout", "RP02 huggingface/candle#3948", "the other layout"),
      make<layout_ignored>("mutant/rope_layout_ignored", "RP03 vllm-project/vllm-ascend#12820",
                           "half-split whatever the layout"),
      make<pairs_rounded_up>("mutant/rope_pairs_rounded_up", "RP07 lucidrains/rotary-embedding-torch#45",
                             "an odd d has the frequencies of d + 1"),
      make<exponent_of_whole_head>("mutant/rope_exponent_of_whole_head", "RP07 fla-org/flash-linear-attention#1177",
                                   "partial rotary with the exponents of the whole head"),
      make<slowest_is_whole_base>("mutant/rope_slowest_is_whole_base", "tensorflow/tensor2tensor's spacing",
                                  "exponents t/(r-1) instead of t/r"),
      make<rest_is_zero>("mutant/rope_rest_is_zero", "RP07 fla-org/flash-linear-attention#1177",
                         "coordinates that do not rotate become 0"),
      make<offset_dropped>("mutant/rope_offset_dropped", "RP08 flashinfer-ai/flashinfer#847",
                           "every row starts at position 0"),
      make<single_query_at_zero>("mutant/rope_single_query_at_zero", "RP10 RobertCsordas/moeut#6",
                                 "a single token is at position 0"),
      make<index_as_position>("mutant/rope_index_as_position", "RP09 warpfront/hipfire#391",
                              "the token's index instead of its position"),
      make<positions_of_first_row>("mutant/rope_positions_of_first_row", "RP22 unslothai/unsloth#3699",
                                   "all rows have the positions of the first"),
      make<changed_positions<doubled>>("mutant/rope_positions_doubled", "RP14 ml-explore/mlx-lm#1553",
                                       "twice the position"),
      make<changed_positions<counted_from_one>>("mutant/rope_counted_from_one", "RP18 vllm-project/vllm#55910: +1",
                                                "positions count from 1"),
      make<changed_positions<in_bf16>>("mutant/rope_positions_in_bf16", "huggingface/candle#3520",
                                       "positions are rounded to bf16"),
      make<changed_positions<in_f16, true>>("mutant/rope_positions_in_f16", "vllm-project/vllm#1004",
                                            "integer positions are rounded to f16"),
      make<changed_positions<at_most_last_row>>("mutant/rope_positions_clamped", "RP18 vllm-project/vllm#55910",
                                                "positions from 2048 on are 2047"),
      make<changed_positions<one_row_short>>("mutant/rope_table_one_short", "RP18 microsoft/onnxruntime#28205",
                                             "position 2047 is 2046"),
      make<changed_positions<unrotated_beyond>>("mutant/rope_unrotated_beyond_table",
                                                "a masked load of fla-org/flash-linear-attention",
                                                "positions from 2048 on are not rotated"),
      make<frequencies_in_bf16>("mutant/rope_frequencies_in_bf16", "sgl-project/sglang-jax#1472",
                                "frequencies are rounded to bf16"),
      make<tables_in_bf16>("mutant/rope_tables_in_bf16", "DT13 KellerJordan/modded-nanogpt#39",
                           "cosines and sines are rounded to bf16"),
      make<angles_in_storage>("mutant/rope_angles_in_storage", "DT11 huggingface/transformers#25681",
                              "all is computed in the storage dtype, and f32 is declared"),
      make<base_always_scaled>("mutant/rope_base_always_scaled", "RP11 vllm-project/vllm#5093",
                               "the base is stretched where no scaling is wanted"),
      make<interpolated_twice>("mutant/rope_interpolated_twice", "RP16 sgl-project/sglang#33558",
                               "the factor is squared"),
      make<interpolation_inverted>("mutant/rope_interpolation_inverted", "RP14 ml-explore/mlx-lm#1554",
                                   "positions times the scale"),
      make<base_times_factor>("mutant/rope_base_times_factor", "RP14 lablup/mlxcel#1324",
                              "base' = base factor instead of base factor^(d/(d-2))"),
      make<fixed_base>("mutant/rope_fixed_base", "GPT-J of huggingface/transformers", "the base is 10000 always"),
      make<turned_the_other_way>("mutant/rope_wrong_sign", "a convention of sign, as published code differs in",
                                 "rotated by minus the angle"),
      make<sine_and_cosine_swapped>("mutant/rope_sine_and_cosine_swapped",
                                    "GPT-J of huggingface/transformers: sines stand first in its table",
                                    "cosine and sine change places in the second coordinate"),
  };
  const auto of_gradients = rope_gradient_mutants();
  all.insert(all.end(), of_gradients.begin(), of_gradients.end());
  for (variant& v : all)
    if (v.id == "mutant/rope_angles_in_storage") v.shown_in = core::dtype::bf16;
  return all;
}

}  // namespace assay::properties
