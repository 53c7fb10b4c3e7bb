// Linear biases some of whose numbers are held in too narrow a format.
#include <algorithm>

#include "properties/encodings/alibi/mutants/mutants.hpp"
#include "properties/encodings/alibi/mutants/recipes.hpp"
#include "properties/faults/position_faults.hpp"

namespace assay::properties::encodings::alibi {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// The slopes of a call as an implementation holds them.
template <core::dtype Held>
void round_slopes(request& call) {
  if (const auto slopes = call.inputs.find("slopes"); slopes != call.inputs.end())
    for (double& m : slopes->second.values.storage()) m = core::round_to(Held, m);
}
struct slope_in_bf16 : unchanged_alibi {
  static void edit(request& call) { round_slopes<core::dtype::bf16>(call); }
};

struct product_in_bf16 : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    reference::encodings::alibi::recipe<R> how;
    how.product = [](const R& slope, const R& c) {
      const auto held = [](const R& x) { return R(core::round_to(core::dtype::bf16, x.number)); };
      return held(held(slope) * held(c));
    };
    return how;
  }
};

// Positions themselves in f32, where they are no longer told apart beyond 2^24.
struct positions_in_f32 : unchanged_alibi {
  static void edit(request& call) { round_positions(call, core::dtype::f32); }
};
struct bias_in_bf16 : unchanged_alibi {
  static void finish(const request& call, core::tensors& outputs) {
    if (call.operation->name != "alibi/bias") return;
    for (double& x : outputs.at("bias").values.storage()) x = core::round_to(core::dtype::bf16, x);
  }
};
// No score below the least number: what overflows is told from the mask, which is written later.
struct bias_saturates : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe(core::dtype storage) {
    reference::encodings::alibi::recipe<R> how;
    how.product = [least = -core::largest_finite(storage)](const R& slope, const R& c) {
      const R product = slope * c;
      return product.number < least ? R(least) : product;
    };
    return how;
  }
};

}  // namespace

std::vector<variant> precision_mutants() {
  std::vector<variant> all{
      make_variant<slope_in_bf16>("mutant/alibi_slope_in_bf16", "Dao-AILab/flash-attention#845",
                                  "slopes are kept in bf16"),
      make_variant<product_in_bf16>("mutant/alibi_product_in_bf16", "DT16 NVIDIA/TensorRT-Model-Connect#667",
                                    "slope, position and their product are rounded to bf16"),
      make_variant<positions_in_f32>("mutant/alibi_positions_in_f32",
                                     "Dao-AILab/flash-attention#845: precision of positions",
                                     "positions are rounded to f32 before they are subtracted"),
      make_variant<bias_in_bf16>("mutant/alibi_bias_in_bf16", "DT17 HabanaAI/vllm-fork#503",
                                 "the bias is stored in bf16"),
      make_variant<bias_saturates>("mutant/alibi_saturates",
                                   "huggingface/transformers, modeling_opt.py: scores no lower than the least number",
                                   "a bias beyond the largest number becomes that number"),
  };
  for (variant& v : all)
    if (v.id == "mutant/alibi_positions_in_f32") v.shown_in = core::dtype::f64;
  return all;
}

}  // namespace assay::properties::encodings::alibi
