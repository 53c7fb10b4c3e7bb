// FIRE: families, laws, faults of public reports and right forms.
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/recipe_variant.hpp"
#include "properties/kinds/pair_bias.hpp"
#include "properties/laws/relations/relations.hpp"
#include "reference/encodings/fire.hpp"

namespace assay::properties::encodings::fire {
namespace {

using core::counter_random;
using core::dtype;
using encoding = reference::encodings::fire;
using recipe = encoding::recipe<reference::rounded>;
inline constexpr auto& changed = make_variant<encoding>;

// As trained networks are: c near 0.1, the multiplier near 1. Biases keep hidden units off their kinks, where either
// slope is right.
double usual(std::string_view input, dtype, counter_random& random) {
  if (input == "c") return random.uniform(0.05, 0.5);
  if (input == "multiplier") return random.uniform(0.53, 1.47);
  if (input == "b1") return random.sign() * random.uniform(0.01, 0.5);
  return random.normal();
}
double of_either_sign(std::string_view input, dtype type, counter_random& random) {
  const double x = usual(input, type, random);
  return input == "c" || input == "multiplier" ? random.sign() * x : x;
}
// c t is far below 1, where log(1 + y) loses it.
double shallow(std::string_view input, dtype type, counter_random& random) {
  return input == "c" ? std::exp2(-random.uniform(6, 12)) : usual(input, type, random);
}
double with_nan(std::string_view input, dtype type, counter_random& random) {
  return input == "b2" && random.one_in(3) ? std::numeric_limits<double>::quiet_NaN() : usual(input, type, random);
}

const std::vector<std::string> bias{"fire/bias"};
const std::vector<std::string> tame{"mild", "either_sign", "far_window"};

// The sign of c is irrelevant, bit for bit.
double negated(const test_case&, double x) { return -x; }
// w1 and b1 doubled, w2 halved: the same units of ReLU, and all of it exact.
double twice(const test_case&, double x) { return 2 * x; }
double half(const test_case&, double x) { return x / 2; }

std::vector<variant> mutants() {
  return {
      changed("mutant/fire_signed_scale", "klei22/nanoGPT, fire: c without its magnitude",
              "a negative c gives logarithms of less than 1",
              {.outputs =
                   [](core::tensors& outputs, const request& call) {
                     if (call.inputs.at("c").values.storage()[0] < 0)
                       change_each(outputs, "bias", [](double) { return std::nan(""); });
                   },
               .telling = true}),
      changed("mutant/fire_first_rows", "NVIDIA/NeMo, kerple_relative_position_embedding.py",
              "queries behind a cache have the first rows of the distances", {.inputs = count_from_first_key}),
      changed("mutant/fire_epsilon_before_logarithm", "a guard inside the logarithm", "psi(max(L, i)) is not guarded",
              {.formula = [](auto& how) { how.divisor = [](const auto& psi, const auto&) { return psi; }; }}),
      changed("mutant/fire_multiplier_ignored", "a threshold that is not learned", "L is the threshold itself",
              {.inputs = [](request& call) { change_each(call.inputs, "multiplier", [](double) { return 1.0; }); },
               .outputs = [](core::tensors& outputs) { set_to_zero(outputs, "grad_multiplier"); },
               .telling = true}),
      changed("mutant/fire_multiplier_without_gradient", "GR07 pytorch/pytorch#196705: a path dropped",
              "the multiplier gets no gradient",
              {.outputs = [](core::tensors& outputs) { set_to_zero(outputs, "grad_multiplier"); }}),
      changed("mutant/fire_output_bias_missing", "a linear layer without its bias", "b2 is not added",
              {.inputs = [](request& call) { set_to_zero(call.inputs, "b2"); }, .telling = true}),
      changed("mutant/fire_other_normalizer", "VITA-Group/TAPE, fire.py against chuanyang-Zheng/DAPE",
              "the query's position where the row's largest distance is declared, and the reverse",
              {.inputs =
                   [](request& call) {
                     change_setting<std::string>(call, "normalizer", [](const std::string& now) {
                       return std::string(now == "position" ? "largest_distance" : "position");
                     });
                   }}),
      changed("mutant/fire_argument_in_bf16", "chuanyang-Zheng/DAPE: x in the dtype of the scores",
              "x has the digits of bf16",
              {.formula =
                   [](auto& how) {
                     how.divisor = [](const auto& psi, const auto& e) { return held_in(dtype::bf16, psi + e); };
                   }}),
  };
}

std::vector<variant> controls() {
  return {
      changed("control/fire_log_of_sum", "chuanyang-Zheng/DAPE: torch.log(torch.abs(c * t) + 1)",
              "the logarithm of 1 + y",
              {.formula =
                   [](auto& how) {
                     how = encoding::algorithm<typename std::decay_t<decltype(how)>::number>(
                         reference::accuracy_class::linear);
                   }}),
      changed("control/fire_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
      changed("control/fire_usual_stages", "VITA-Group/TAPE, fire.py",
              "f16 and bf16: x in f32, the network in the dtype",
              {.arithmetic = in_usual_stages, .declared = nothing_declared}),
  };
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "fire";
  tests.families = {
      pair_bias_family("mild", "a trained network, the last queries of a sequence", usual, in_order),
      pair_bias_family("either_sign", "c and the multiplier of either sign", of_either_sign, in_order),
      pair_bias_family("shallow", "c so small that 1 + c t loses it", shallow, in_order),
      pair_bias_family("far_window", "a window far from the first token", usual, far_window),
      pair_bias_family("scattered", "positions all over their range, in no order", usual, scattered),
      pair_bias_family("nan_inside", "a NaN among the output's biases", with_nan, in_order),
  };
  tests.families.back().holds_nan = true;
  tests.families.front().parts_classes = true;
  tests.sizes = pair_bias_sizes(bias);
  tests.mutants = mutants();
  tests.controls = controls();
  const law_scope scope{bias, tame};
  tests.laws = {
      law("fire_sign_of_scale", "the sign of c is irrelevant", scope,
          identical_after(each_of({"c"}, negated), "bias", "c negated")),
      law("fire_scaled_units", "w1 and b1 doubled and w2 halved: the same bias", scope,
          identical_after(then(each_of({"w1", "b1"}, twice), each_of({"w2"}, half)), "bias", "units scaled by 2"))};
  return tests;
}

}  // namespace assay::properties::encodings::fire
