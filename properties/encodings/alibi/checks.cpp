// ALiBi: families of slopes and positions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/kinds/attention.hpp"
#include "properties/kinds/pair_bias.hpp"

namespace assay::properties::encodings::alibi {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::counter_random;
using core::dtype;

double moderate(std::string_view, dtype, counter_random& random) { return random.uniform(0x1p-8, 1.0); }
double power_of_two(std::string_view, dtype, counter_random& random) {
  return std::ldexp(1.0, -static_cast<int>(random.below(17)));
}
double of_either_sign(std::string_view, dtype, counter_random& random) {
  return random.one_in(6) ? 0.0 : random.normal();
}
double wide(std::string_view, dtype type, counter_random& random) {
  const int lowest = type == dtype::f16 ? -12 : -60;
  return std::ldexp(1.0 + random.uniform(),
                    lowest + static_cast<int>(random.below(static_cast<std::size_t>(4 - lowest))));
}
double subnormal(std::string_view, dtype type, counter_random& random) {
  return core::smallest_subnormal(type) * static_cast<double>(1 + random.below(100));
}
// At the farthest of the scattered positions the bias exceeds the largest number.
double steep(std::string_view, dtype type, counter_random& random) {
  const double bits = std::log2(largest_position(type));
  return core::largest_finite(type) * std::exp2(-random.uniform(bits - 8, bits));
}
double number_or_nan(std::string_view input, dtype type, counter_random& random) {
  return random.one_in(3) ? std::numeric_limits<double>::quiet_NaN() : moderate(input, type, random);
}

// An implementation that counts from the last key may accept only that key's position as `last_position`: keys in a row
// are moved so that they end there, and queries with them.
void end_at_last_position(pair_positions& positions, const core::attributes& settings) {
  const std::vector<double>& keys = positions.key;
  if (core::setting<std::string>(settings, "form") != "key_from_last" || keys.empty()) return;
  const double shift = static_cast<double>(core::setting<std::int64_t>(settings, "last_position")) - keys.back();
  for (std::size_t j = 1; j < keys.size(); ++j)
    if (keys[j] != keys[j - 1] + 1) return;
  if (keys.front() + shift < 0) return;
  for (auto* all : {&positions.query, &positions.key})
    for (double& p : *all) p = std::max(p + shift, 0.0);
}

// A family of slopes: for biases with positions, for attention with its other inputs, or for both.
family of_slopes(std::string name, std::string summary, parameter_source slope, position_filler fill,
                 input_filler attends = {}) {
  const family of_attention = attention_family(
      name, summary, [=](drawn_inputs& in, const core::operation& op, dtype type, counter_random& random) {
        for (double& m : in.numbers.at("slopes")) m = slope("slopes", type, random);
        attends(in, op, type, random);
      });
  family f = pair_bias_family(std::move(name), std::move(summary), slope,
                              [fill](const core::operation& op, dtype type, const core::attributes& settings,
                                     counter_random& random, extent size) {
                                pair_positions positions = draw_pairs(op, random, size);
                                fill(positions, type, random);
                                if (random.one_in(2)) end_at_last_position(positions, settings);
                                return positions;
                              });
  f.applies = [fill, attends](const core::operation& op) {
    return op.input("q") != nullptr ? attends != nullptr : fill != nullptr;
  };
  return by_input("q", of_attention, std::move(f));
}
// Slopes so small that even the farthest key has weight.
void gentle(drawn_inputs& in, const core::operation&, dtype, counter_random& random) {
  const auto keys = static_cast<double>(std::max<std::size_t>(in.sizes.at("m"), 1));
  for (double& m : in.numbers.at("slopes")) m = random.uniform(0.5, 4) / keys;
}
void no_slopes(drawn_inputs& in, const core::operation&, dtype, counter_random&) {
  for (double& m : in.numbers.at("slopes")) m = 0;
}
double nearest_wins(std::string_view, dtype, counter_random& random) { return random.uniform(20, 60); }

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> slopes{"alibi/slopes"}, bias{"alibi/bias"}, attention{"alibi/attention"};
  encoding_tests tests;
  tests.name = "alibi";
  tests.families = {
      parting_classes(
          of_slopes("mild", "slopes from 2^-8 to 1, the last queries of a sequence", moderate, in_order, as_drawn)),
      of_slopes("powers_of_two", "slopes 1 to 2^-16", power_of_two, in_order),
      of_slopes("far_window", "a window far from the first token", moderate, far_window),
      of_slopes("scattered", "positions all over their range, in no order", moderate, scattered),
      of_slopes("either_sign", "slopes of either sign, and 0", of_either_sign, scattered, as_drawn),
      of_slopes("wide", "slopes from 2^-60 to 16", wide, far_window),
      of_slopes("subnormal", "subnormal slopes", subnormal, scattered),
      of_slopes("beyond_the_largest", "slopes so steep that far biases overflow", steep, scattered),
      long_along("m", of_slopes("gentle", "slopes so small that the farthest key weighs something", moderate, nullptr,
                                gentle)),
      of_slopes("no_bias", "slopes of 0", moderate, nullptr, no_slopes),
      of_slopes("one_key_wins", "slopes so steep that one key weighs e^20 times the others", nearest_wins, nullptr,
                as_drawn),
      of_slopes("large_logits", "logits of order 1000", moderate, nullptr, large_logits),
      holding_nan(of_slopes("nan_inside", "a NaN among the slopes", number_or_nan, in_order, as_drawn)),
  };
  tests.sizes = pair_bias_sizes(bias);
  for (const usual_size& size : std::vector<usual_size>{{slopes, {{"h", 9}}, true},
                                                        {slopes, {{"h", 65}}, true, every_family},
                                                        {slopes, {{"h", 144}}, true},
                                                        {slopes, {{"h", 513}}},
                                                        {bias, {{"h", 2}, {"n", 2}, {"m", 65537}}}})
    tests.sizes.push_back(size);
  add_sizes_of_places(tests.sizes, attention);
  tests.long_ones = {{bias, {{"m", 2}}}, long_calls_of_places(attention)};
  tests.rests_on_convention = has_query_before_keys;
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = laws_of_distance("alibi", bias, {"mild", "powers_of_two", "far_window", "scattered", "either_sign"},
                                [](const test_case& c) {
                                  const auto& form = setting<std::string>(c, "form");
                                  return has_elements(c) && (form == "distance" || form == "absolute");
                                });
  tests.laws.push_back(
      law_of_cached_queries("alibi", attention.front(), {"mild", "either_sign", "gentle", "no_bias", "large_logits"}));
  return tests;
}

}  // namespace assay::properties::encodings::alibi
