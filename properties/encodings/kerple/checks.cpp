// KERPLE: families, a law, and faults of public reports.
#include <cmath>
#include <limits>

#include "properties/kinds/pair_bias.hpp"
#include "properties/laws/relations/relations.hpp"
#include "reference/encodings/kerple.hpp"

namespace assay::properties::encodings::kerple {
namespace {

using core::counter_random;
using core::dtype;
using encoding = reference::encodings::kerple;
inline constexpr auto& changed = make_variant<encoding>;

// Powers of far distances stay finite in f16.
double usual(std::string_view input, dtype type, counter_random& random) {
  if (input == "s") return random.normal();
  if (input == "w2" || input == "r3") return random.uniform(0.05, type == dtype::f16 ? 1.0 : 1.9);
  return random.uniform(0.01, 1.0);
}
// r2 t is far below 1: log(1 + x) would lose it.
double shallow(std::string_view input, dtype type, counter_random& random) {
  return input == "r2" ? std::exp2(-random.uniform(4, type == dtype::f16 ? 9 : 20)) : usual(input, type, random);
}
// Exponents of 0: programs have 0^0 = 1 at distance 0.
double flat(std::string_view input, dtype type, counter_random& random) {
  const bool is_exponent = input == "r2" || input == "w2" || input == "r3";
  return is_exponent && random.one_in(2) ? 0.0 : usual(input, type, random);
}
double with_nan(std::string_view input, dtype type, counter_random& random) {
  const bool is_factor = input == "r1" || input == "s";
  return is_factor && random.one_in(3) ? std::numeric_limits<double>::quiet_NaN() : usual(input, type, random);
}

// r1 r2 t / (1 + r2 t) <= -B <= r1 r2 t, because log(1 + x) lies between x / (1 + x) and x.
void check_bounds(experiment& e) {
  const numbers bias(e.call(), "bias");
  const given_numbers r1(e.c, "r1"), r2(e.c, "r2"), query(e.c, "query_position"), key(e.c, "key_position");
  const reference::future_keys future(e.c.call.attributes);
  for (std::size_t k = 0; k < bias.size(); ++k) {
    const std::size_t h = k / (query.size() * key.size());
    const auto t = future.distance(query[k / key.size() % query.size()].value, key[k % key.size()].value);
    if (!t) continue;
    const double x = r2[h].value * *t, most = r1[h].value * x;
    e.at_most(computed(most / (1 + x)), -bias[k], "head {}, distance {}: the lower bound, and the bias", h, *t);
    e.at_most(-bias[k], computed(most), "head {}, distance {}: the bias, and the upper bound", h, *t);
  }
}

std::vector<variant> mutants() {
  std::vector<variant> all = faults_of_distance<encoding>("kerple");
  all.push_back(changed("mutant/kerple_without_effect", "NVIDIA-NeMo/Speech#6478, NVIDIA-NeMo/Speech#6666",
                        "the scale of distances is 0: no bias, and no gradient",
                        {.inputs = [](request& call) { set_to_zero(call.inputs, "r2"); },
                         .outputs = [](core::tensors& outputs) { set_to_zero(outputs, "grad_r2"); },
                         .representative = true}));
  all.push_back(changed("mutant/kerple_grows", "a survey prints the bias without its sign",
                        "the bias grows with distance",
                        {.outputs = [](core::tensors& outputs) { negate(outputs, "bias"); }, .representative = true}));
  all.push_back(changed("mutant/kerple_exponent_gradient_undefined", "exp(r2 log t) at t = 0: 0 times infinity",
                        "the gradient of an exponent is NaN",
                        {.outputs = [](core::tensors& outputs, const request& call) {
                          if (call.operation->name == "kerple/power:vjp")
                            change_each(outputs, "grad_r2", [](double) { return std::nan(""); });
                        }}));
  return all;
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> biases{"kerple/log", "kerple/power", "kerple/log_power"}, tame{"mild", "shallow"};
  encoding_tests tests;
  tests.name = "kerple";
  tests.mutants = mutants();
  tests.families = {
      parting_classes(pair_bias_family("mild", "parameters up to 1, the last queries of a sequence", usual, in_order)),
      pair_bias_family("shallow", "scales so small that 1 + r2 t loses them", shallow, far_window),
      pair_bias_family("flat", "every other exponent or scale is 0", flat, in_order),
      pair_bias_family("scattered", "positions all over their range, in no order", usual, scattered),
      holding_nan(pair_bias_family("nan_inside", "a NaN among factors and scores", with_nan, in_order)),
  };
  tests.controls = controls_of_arithmetic<encoding>("kerple");
  tests.laws = laws_of_distance("kerple", biases, tame);
  tests.laws.push_back(
      law("kerple_bounds", "the logarithm lies between x / (1 + x) and x", {{"kerple/log"}, tame}, {1, check_bounds}));
  return tests;
}

}  // namespace assay::properties::encodings::kerple
