// FIRE: families, laws, and faults of public reports.
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/kinds/pair_bias.hpp"
#include "properties/laws/relations/relations.hpp"
#include "reference/encodings/fire.hpp"

namespace assay::properties::encodings::fire {
namespace {

using core::counter_random;
using core::dtype;
using encoding = reference::encodings::fire;
inline constexpr auto& changed = make_variant<encoding>;

// These values are like those of trained networks: c is near 0.1, and the multiplier is near 1. Biases keep hidden
// units off their kinks, where either slope is right.
double usual(std::string_view input, dtype, counter_random& random) {
  if (input == "c") return random.uniform(0.05, 0.5);
  if (input == "multiplier") return random.uniform(0.53, 1.47);
  return input == "b1" ? random.sign() * random.uniform(0.01, 0.5) : random.normal();
}
double of_either_sign(std::string_view input, dtype type, counter_random& random) {
  const double x = usual(input, type, random);
  return input == "c" || input == "multiplier" ? random.sign() * x : x;
}
// c t is far below 1: log(1 + y) would lose it.
double shallow(std::string_view input, dtype type, counter_random& random) {
  return input == "c" ? std::exp2(-random.uniform(6, 12)) : usual(input, type, random);
}
// Hidden units that are 0 at distance 0, and a threshold that equals a position.
double at_kinks(std::string_view input, dtype type, counter_random& random) {
  if (input == "multiplier") return random.sign();
  return input == "b1" && random.one_in(2) ? 0.0 : usual(input, type, random);
}
// Queries at the threshold and beside it, and keys at the positions up to the threshold.
pair_positions around_threshold(const core::operation& op, dtype, const core::attributes& settings,
                                counter_random& random, extent size) {
  pair_positions positions = draw_pairs(op, random, size);
  const auto threshold = core::setting<double>(core::completed(op, settings), "threshold");
  for (double& query : positions.query) query = threshold + static_cast<double>(random.below(3)) - 1.0;
  for (std::size_t j = 0; j < positions.key.size(); ++j)
    positions.key[j] = std::max(threshold - static_cast<double>(positions.key.size() - 1 - j), 0.0);
  return positions;
}
double with_nan(std::string_view input, dtype type, counter_random& random) {
  return input == "b2" && random.one_in(3) ? std::numeric_limits<double>::quiet_NaN() : usual(input, type, random);
}

std::vector<variant> mutants() {
  std::vector<variant> all = faults_of_distance<encoding>("fire");
  for (variant& v : std::vector<variant>{
           changed("mutant/fire_signed_scale", "klei22/nanoGPT: c without its magnitude",
                   "logarithms of 1 + c t where c is negative",
                   {.outputs =
                        [](core::tensors&outputs, const request&call) {
                          if (call.inputs.at("c").values.storage()[0] < 0)
                            change_each(outputs, "bias", [](double) { return std::nan(""); });
                        },
                   .representative = true}),
           changed("mutant/fire_epsilon_missing", "a guard that is left out", "psi(max(L, i)) is not guarded",
                   {.inputs = [](request&call) { set_setting(call, "epsilon", 0.0); }, .shown_in = dtype::f64}),
           changed("mutant/fire_multiplier_without_gradient", "pytorch/pytorch#196705: a path dropped",
                   "the multiplier gets no gradient",
                   {.outputs = [](core::tensors&outputs) { set_to_zero(outputs, "grad_multiplier"); }}),
           changed("mutant/fire_other_normalizer", "VITA-Group/TAPE, fire.py, against chuanyang-Zheng/DAPE",
                   "the query's position for the row's largest distance, and the reverse",
                   {.inputs =
                        [](request&call) {
                          change_setting<std::string>(call, "normalizer", [](const std::string& now) {
                            return std::string(now == "position" ? "largest_distance" : "position");
                          });
                        }}),
           changed("mutant/fire_argument_in_bf16", "chuanyang-Zheng/DAPE: x in the dtype of the scores",
                   "psi has the digits of bf16",
                   {.arithmetic =
                        [](dtype storage) {
                          return with_stage_in(dtype::bf16, "argument", {"mlp", "accumulation"}, storage);
                        },
                   .declared = usual_arithmetic_declared}),
       })
    all.push_back(std::move(v));
  return all;
}

}  // namespace

encoding_tests make_tests() {
  const law_scope bias{{"fire/bias"}, {"mild", "either_sign"}};
  encoding_tests tests;
  tests.name = "fire";
  tests.mutants = mutants();
  tests.families = {
      parting_classes(pair_bias_family("mild", "a trained network, the last queries of a sequence", usual, in_order)),
      pair_bias_family("either_sign", "c and the multiplier of either sign", of_either_sign, far_window),
      pair_bias_family("shallow", "c so small that 1 + c t loses it", shallow, in_order),
      pair_bias_family("kinks", "queries at the threshold, and hidden units that are 0", at_kinks, around_threshold),
      pair_bias_family("scattered", "positions all over their range, in no order", usual, scattered),
      holding_nan(pair_bias_family("nan_inside", "a NaN among the output's biases", with_nan, in_order)),
  };
  tests.controls = controls_of_arithmetic<encoding>("fire");
  tests.laws = {
      law("fire_sign_of_scale", "the sign of c is irrelevant", bias,
          identical_after(each_of({"c"}, [](const test_case&, double x) { return -x; }), "bias", "c negated"))};
  return tests;
}

}  // namespace assay::properties::encodings::fire
