// Wrong frequencies, angles and scalings.
#include <algorithm>
#include <cmath>

#include "properties/encodings/rope/mutants/edits.hpp"
#include "properties/encodings/rope/mutants/mutants.hpp"
#include "properties/faults/angle_faults.hpp"

namespace assay::properties::encodings::rope {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// The table of frequencies has a column for the coordinate that is left over.
struct pairs_rounded_up : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    how.steps = [](std::size_t features, std::size_t pairs) {
      return pairs == features / 2 ? (features + 1) / 2 : pairs;
    };
    return how;
  }
};
struct exponent_of_whole_head : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    how.steps = [](std::size_t features, std::size_t) { return features / 2; };
    return how;
  }
};
// As tensor2tensor spaces the frequencies of sinusoids.
struct slowest_is_whole_base : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    how.steps = [](std::size_t, std::size_t pairs) { return std::max<std::size_t>(pairs, 2) - 1; };
    return how;
  }
};

template <core::dtype Held>
struct frequencies_in : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    how.frequency = [](const R& base, std::size_t t, std::size_t steps) {
      return R(core::round_to(Held, geometric_frequency<R>(base, t, steps).number));
    };
    return how;
  }
};
struct tables_in_bf16 : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
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
  static core::dtype arithmetic(core::dtype storage) { return storage; }
  static void declare(description& about) {
    for (const core::dtype t : {core::dtype::f16, core::dtype::bf16}) about.compute[t] = core::dtype::f32;
  }
};

// One step of range reduction by a 2 pi of 24 bits, as fast trigonometric functions have it.
struct fast_sine : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    how.rotation_at = [](const R& position, const R& theta) { return rotation<R>(reduced_once(position * theta)); };
    return how;
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
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
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

// Linear scaling that stretches the base as well.
struct base_too_is_interpolated : unchanged_rope {
  static void edit(request& call) {
    if (call.operation->attribute("scaling") == nullptr) return;
    const core::attributes settings = core::completed(*call.operation, call.attributes);
    if (core::setting<std::string>(settings, "scaling") != std::string("interpolation")) return;
    for (double& base : call.inputs.at("base").values.storage())
      base = core::round_to(call.type, base * core::setting<double>(settings, "factor"));
  }
};

// The table that a long context needed stays for short ones: the largest factor so far.
class factor_stays final : public implementation {
 public:
  explicit factor_stays(const char* name) : about_(description_of("rope", name)) {}
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    request edited = call;
    const core::attributes settings = core::completed(*call.operation, call.attributes);
    if (settings.contains("scaling") && core::setting<std::string>(settings, "scaling") == std::string("ntk"))
      edit_setting<double>(edited, "factor", [&](double factor) { return largest_ = std::max(largest_, factor); });
    return right_.evaluate(edited);
  }

 private:
  description about_;
  recipe_variant<unchanged_rope> right_{"right"};
  double largest_ = 1;
};

struct turned_the_other_way : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    how.forward = turned_back<R>;
    how.backward = turned<R>;
    return how;
  }
};
struct sine_and_cosine_swapped : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    how.forward = [](const coordinate_pair<R>& x, const rotation<R>& by) -> coordinate_pair<R> {
      return {x.first * by.cosine - x.second * by.sine, x.first * by.cosine + x.second * by.sine};
    };
    return how;
  }
};

}  // namespace

std::vector<variant> frequency_mutants() {
  static constexpr const char* stays = "mutant/rope_factor_stays";
  std::vector<variant> all{
      make_variant<pairs_rounded_up>("mutant/rope_pairs_rounded_up", "RP07 lucidrains/rotary-embedding-torch#45",
                                     "an odd d has the frequencies of d + 1"),
      make_variant<exponent_of_whole_head>("mutant/rope_exponent_of_whole_head",
                                           "RP07 fla-org/flash-linear-attention#1177",
                                           "partial rotary with the exponents of the whole head"),
      make_variant<slowest_is_whole_base>("mutant/rope_slowest_is_whole_base", "tensorflow/tensor2tensor's spacing",
                                          "exponents t/(r-1) instead of t/r"),
      make_variant<frequencies_in<core::dtype::bf16>>("mutant/rope_frequencies_in_bf16", "sgl-project/sglang-jax#1472",
                                                      "frequencies are rounded to bf16"),
      make_variant<tables_in_bf16>("mutant/rope_tables_in_bf16", "DT13 KellerJordan/modded-nanogpt#39",
                                   "cosines and sines are rounded to bf16"),
      make_variant<angles_in_storage>("mutant/rope_angles_in_storage", "DT11 huggingface/transformers#25681",
                                      "all is computed in the storage dtype"),
      make_variant<base_always_scaled>("mutant/rope_base_always_scaled", "RP11 vllm-project/vllm#5093",
                                       "the base is stretched where no scaling is wanted"),
      make_variant<interpolated_twice>("mutant/rope_interpolated_twice", "RP16 sgl-project/sglang#33558",
                                       "the factor is squared"),
      make_variant<interpolation_inverted>("mutant/rope_interpolation_inverted", "RP14 ml-explore/mlx-lm#1554",
                                           "positions times the scale"),
      make_variant<base_times_factor>("mutant/rope_base_times_factor", "RP14 lablup/mlxcel#1324",
                                      "base' = base factor instead of base factor^(d/(d-2))"),
      make_variant<fixed_base>("mutant/rope_fixed_base", "GPT-J of huggingface/transformers",
                               "the base is 10000 always"),
      make_variant<turned_the_other_way>("mutant/rope_wrong_sign", "a convention of sign, as published code differs in",
                                         "rotated by minus the angle"),
      make_variant<sine_and_cosine_swapped>("mutant/rope_sine_and_cosine_swapped",
                                            "GPT-J of huggingface/transformers: sines stand first in its table",
                                            "cosine and sine change places in the second coordinate"),
      make_variant<frequencies_in<core::dtype::f16>>("mutant/rope_frequencies_in_f16", "DT12 EleutherAI/gpt-neox#1003",
                                                     "frequencies are rounded to f16"),
      make_variant<fast_sine>("mutant/rope_fast_sine", "kekzl/imp#1317", "angles are reduced by a 2 pi of 24 bits"),
      make_variant<base_too_is_interpolated>("mutant/rope_base_too_is_interpolated", "RP14 lablup/mlxcel#1389",
                                             "interpolation stretches the base, too"),
      {stays, "RP12 huggingface/transformers#25306", "the largest factor of all calls so far is in use",
       [] { return std::make_unique<factor_stays>(stays); }},
  };
  for (variant& v : all) {
    if (v.id == "mutant/rope_angles_in_storage") v.shown_in = core::dtype::bf16;
    // In f32 a 2 pi of 24 bits is no worse than the rounding of the angle.
    if (v.id == "mutant/rope_fast_sine") v.shown_in = core::dtype::f64;
    v.remembers = v.id == stays;
  }
  return all;
}

}  // namespace assay::properties::encodings::rope
