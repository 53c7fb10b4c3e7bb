// Families of inputs for attention with linear biases: slopes, and positions of queries and keys.
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/encodings/alibi/laws/laws.hpp"
#include "properties/encodings/alibi/mutants/mutants.hpp"
#include "properties/generators/pair_positions.hpp"
#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::alibi {
namespace {

using core::counter_random;
using core::dtype;
using slope_source = double (*)(dtype type, counter_random& random);

double moderate(dtype, counter_random& random) { return random.uniform(0x1p-8, 1.0); }
double power_of_two(dtype, counter_random& random) { return std::ldexp(1.0, -static_cast<int>(random.below(17))); }
double of_either_sign(dtype, counter_random& random) { return random.one_in(6) ? 0.0 : random.normal(); }
double wide(dtype type, counter_random& random) {
  const int lowest = type == dtype::f16 ? -12 : -60;
  return std::ldexp(1.0 + random.uniform(),
                    lowest + static_cast<int>(random.below(static_cast<std::size_t>(4 - lowest))));
}
double subnormal(dtype type, counter_random& random) {
  return core::smallest_subnormal(type) * static_cast<double>(1 + random.below(100));
}
// At the farthest of scattered positions the bias is beyond the largest number.
double steep(dtype type, counter_random& random) {
  const double bits = std::log2(largest_position(type));
  return core::largest_finite(type) * std::exp2(-random.uniform(bits - 8, bits));
}
double number_or_nan(dtype type, counter_random& random) {
  return random.one_in(3) ? std::numeric_limits<double>::quiet_NaN() : moderate(type, random);
}

// An implementation that counts from the last key may take no other `last_position` than that key's: keys in a row are
// moved so that they end there, and queries with them.
void end_at_last_position(pair_positions& positions, const core::attributes& settings) {
  const auto last = static_cast<double>(std::get<std::int64_t>(settings.at("last_position")));
  const std::vector<double>& keys = positions.key;
  if (std::get<std::string>(settings.at("form")) != "key_from_last" || keys.empty()) return;
  const double shift = last - keys.back();
  for (std::size_t j = 1; j < keys.size(); ++j)
    if (keys[j] != keys[j - 1] + 1) return;
  if (keys.front() + shift < 0) return;
  for (auto* all : {&positions.query, &positions.key})
    for (double& p : *all) p = std::max(p + shift, 0.0);
}

// The slopes have no inputs: every family draws other settings of theirs.
family filled_by(std::string name, std::string summary, slope_source slope, position_filler fill) {
  family f{std::move(name), std::move(summary)};
  f.generate = [slope, fill](const core::operation& op, dtype type, const core::attributes& settings,
                             counter_random& random, extent size) -> core::tensors {
    if (op.inputs.empty()) return {};
    pair_positions positions = draw_pairs(op, random, size);
    fill(positions, type, random);
    if (random.one_in(2)) end_at_last_position(positions, settings);
    const std::size_t drawn = random.one_in(40) ? 0 : 1 + random.below(3);
    std::vector<double> slopes(size.axis("h", size.is_given() ? 2 : drawn));
    for (double& m : slopes) m = slope(type, random);
    core::tensors inputs{{"slopes", core::make_tensor(type, {slopes.size()}, slopes)}};
    add_positions(op, inputs, positions);
    return inputs;
  };
  return f;
}

std::vector<usual_size> usual_sizes() {
  const std::vector<std::string> slopes{"alibi/slopes"}, bias{"alibi/bias"};
  return {
      {slopes, {{"h", 9}}, true},
      {slopes, {{"h", 65}}, true, every_family},
      {slopes, {{"h", 144}}, true},
      {slopes, {{"h", 513}}},
      {bias, {{"h", 9}, {"n", 5}, {"m", 258}}, true},
      {bias, {{"h", 66}, {"n", 3}, {"m", 9}}, true},
      {bias, {{"h", 2}, {"n", 130}, {"m", 66}}, true},
      {bias, {{"h", 9}, {"n", 66}, {"m", 130}}, true},
      {bias, {{"h", 8}, {"n", 64}, {"m", 64}}, true},
      {bias, {{"h", 2}, {"n", 255}, {"m", 255}}, true},
      {bias, {{"h", 2}, {"n", 80}, {"m", 80}}, true, "scattered"},
      {bias, {{"h", 9}, {"n", 66}, {"m", 130}}, true, every_family},
      {bias, {{"h", 3}, {"n", 1025}, {"m", 1025}}},
      {bias, {{"h", 2}, {"n", 3}, {"m", 4097}}},
      {bias, {{"h", 2}, {"n", 2}, {"m", 65537}}},
      {bias, {{"h", 2}, {"n", 65537}, {"m", 2}}},
  };
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "alibi";
  tests.families = {
      filled_by("mild", "slopes from 2^-8 to 1, the last queries of a sequence", moderate, in_order),
      filled_by("powers_of_two", "slopes 1 to 2^-16", power_of_two, in_order),
      filled_by("far_window", "a window far from the first token", moderate, far_window),
      filled_by("scattered", "positions all over their range, in no order", moderate, scattered),
      filled_by("either_sign", "slopes of either sign, and 0", of_either_sign, scattered),
      filled_by("wide", "slopes from 2^-60 to 16", wide, far_window),
      filled_by("subnormal", "subnormal slopes", subnormal, scattered),
      filled_by("beyond_the_largest", "slopes so steep that far biases overflow", steep, scattered),
      filled_by("nan_inside", "a NaN among the slopes", number_or_nan, in_order),
  };
  tests.families.back().holds_nan = true;
  tests.families.front().parts_classes = true;
  tests.sizes = usual_sizes();
  tests.long_ones = {{{"alibi/bias"}, {{"m", 2}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = slope_laws();
  for (property& law : bias_laws()) tests.laws.push_back(std::move(law));
  return tests;
}

}  // namespace assay::properties::encodings::alibi
