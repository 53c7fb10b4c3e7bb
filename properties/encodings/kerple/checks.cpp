// KERPLE: families, laws, faults of public reports and right forms.
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/recipe_variant.hpp"
#include "properties/kinds/pair_bias.hpp"
#include "properties/laws/relations/relations.hpp"
#include "reference/encodings/kerple.hpp"

namespace assay::properties::encodings::kerple {
namespace {

using core::counter_random;
using core::dtype;
using encoding = reference::encodings::kerple;
using recipe = encoding::recipe<reference::rounded>;
inline constexpr auto& changed = make_variant<encoding>;

bool is_exponent(std::string_view input) { return input == "w2" || input == "r3"; }

// Powers of far distances stay finite in f16.
double usual(std::string_view input, dtype type, counter_random& random) {
  if (input == "s") return random.normal();
  if (is_exponent(input)) return random.uniform(0.05, type == dtype::f16 ? 1.0 : 1.9);
  return random.uniform(0.01, 1.0);
}
// r2 t is far below 1, where log(1 + x) loses it.
double shallow(std::string_view input, dtype type, counter_random& random) {
  if (input == "s" || is_exponent(input)) return usual(input, type, random);
  return std::exp2(-random.uniform(4, type == dtype::f16 ? 9 : 20));
}
double wide(std::string_view input, dtype type, counter_random& random) {
  if (input == "s" || is_exponent(input)) return usual(input, type, random);
  return input == "r2" ? std::exp2(random.uniform(-12, 0.9)) : std::exp2(random.uniform(-12, 4));
}
double with_nan(std::string_view input, dtype type, counter_random& random) {
  const bool factor = input == "r1" || input == "s";
  return factor && random.one_in(3) ? std::numeric_limits<double>::quiet_NaN() : usual(input, type, random);
}

const std::vector<std::string> biases{"kerple/log", "kerple/power", "kerple/log_power"};
const std::vector<std::string> tame{"mild", "shallow", "far_window"};

// r1 r2 t / (1 + r2 t) <= -B <= r1 r2 t, from log(1 + x) between x / (1 + x) and x.
void check_bounds(experiment& e) {
  const numbers bias(e.call(), "bias");
  const given_numbers r1(e.c, "r1"), r2(e.c, "r2"), query(e.c, "query_position"), key(e.c, "key_position");
  for (std::size_t k = 0; k < bias.size(); ++k) {
    const std::size_t h = k / (query.size() * key.size());
    const double t = std::fabs(query[k / key.size() % query.size()].value - key[k % key.size()].value);
    if (std::isinf(bias.x[k]) || (bias.x[k] == 0.0 && setting<std::string>(e.c, "future") == "zero")) continue;
    const double x = r2[h].value * t, most = r1[h].value * x;
    e.at_most(computed(most / (1 + x)), -bias[k], "head {}, distance {}: the lower bound, and the bias", h, t);
    e.at_most(-bias[k], computed(most), "head {}, distance {}: the bias, and the upper bound", h, t);
  }
}

std::vector<variant> mutants() {
  return {
      changed("mutant/kerple_without_effect", "NVIDIA-NeMo/Speech#6478, NVIDIA-NeMo/Speech#6666",
              "the scale of distances is 0: no bias, and no gradient",
              {.inputs = [](request& call) { set_to_zero(call.inputs, "r2"); },
               .outputs = [](core::tensors& outputs) { set_to_zero(outputs, "grad_r2"); },
               .telling = true}),
      changed("mutant/kerple_first_rows", "NVIDIA/NeMo, kerple_relative_position_embedding.py",
              "queries behind a cache have the first rows of the distances", {.inputs = count_from_first_key}),
      changed("mutant/kerple_indices_for_positions", "AL05 lucidrains/x-transformers#242",
              "keys and queries are counted, wherever they stand", {.inputs = count_as_last, .telling = true}),
      changed("mutant/kerple_grows", "the bias without its sign, as surveys print it", "the bias grows with distance",
              {.outputs =
                   [](core::tensors& outputs, const request& call) {
                     if (call.operation->name == "kerple/log") negate(outputs, "bias");
                   },
               .telling = true}),
      changed("mutant/kerple_distances_in_bf16", "chijames/KERPLE: distances in the dtype of the scores",
              "distances are rounded to bf16", {.inputs = [](request& call) { round_positions(call, dtype::bf16); }}),
      changed("mutant/kerple_epsilon_in_logarithm", "a guard against log(0) that is not needed", "log(1 + x + 1e-3)",
              {.formula =
                   [](auto& how) {
                     using number = typename std::decay_t<decltype(how)>::number;
                     how.log_of_one_plus = [](const number& x) { return log(number(1.0 + 0x1p-10) + x); };
                   },
               .telling = true}),
      changed("mutant/kerple_exponent_gradient_undefined_at_0", "exp(r2 log t) at t = 0: 0 times infinity",
              "the gradient of an exponent is NaN where a token meets itself",
              {.outputs =
                   [](core::tensors& outputs, const request& call) {
                     if (call.operation->name != "kerple/power:vjp") return;
                     const auto &query = call.inputs.at("query_position").values.storage(),
                                &key = call.inputs.at("key_position").values.storage();
                     for (const double p : query)
                       if (std::find(key.begin(), key.end(), p) != key.end())
                         change_each(outputs, "grad_r2", [](double) { return std::nan(""); });
                   }}),
  };
}

std::vector<variant> controls() {
  return {
      // Of class linear: x is lost beside 1.
      changed("control/kerple_log_of_sum", "chijames/KERPLE: torch.log(1 + r2 t)", "the logarithm of 1 + x",
              {.formula =
                   [](auto& how) {
                     how = encoding::algorithm<typename std::decay_t<decltype(how)>::number>(
                         reference::accuracy_class::linear);
                   }}),
      changed("control/kerple_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
      changed("control/kerple_usual_stages", "eager code", "f16 and bf16 in f32, stored once",
              {.arithmetic = in_usual_stages, .declared = nothing_declared}),
  };
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "kerple";
  tests.families = {
      pair_bias_family("mild", "parameters up to 1, the last queries of a sequence", usual, in_order),
      pair_bias_family("shallow", "scales so small that 1 + r2 t loses them", shallow, in_order),
      pair_bias_family("far_window", "a window far from the first token", usual, far_window),
      pair_bias_family("scattered", "positions all over their range, in no order", usual, scattered),
      pair_bias_family("wide", "scales from 2^-12 on", wide, far_window),
      pair_bias_family("nan_inside", "a NaN among factors and scores", with_nan, in_order),
  };
  tests.families.back().holds_nan = true;
  tests.families.front().parts_classes = true;
  tests.sizes = pair_bias_sizes(biases);
  tests.sizes.push_back({{"kerple/weighted_scores"}, {{"B", 2}, {"h", 4}, {"n", 33}, {"m", 65}}, true, every_family});
  tests.sizes.push_back({{"kerple/weighted_scores"}, {{"B", 1}, {"h", 9}, {"n", 5}, {"m", 258}}, true});
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = laws_of_distance("kerple", biases, tame);
  tests.laws.push_back(
      law("kerple_bounds", "the logarithm lies between x / (1 + x) and x", {{"kerple/log"}, tame}, {1, check_bounds}));
  return tests;
}

}  // namespace assay::properties::encodings::kerple
