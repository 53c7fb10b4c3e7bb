// Families of inputs for the relative bias of T5: distances near the ends of the buckets, and tables.
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/encodings/t5_bias/laws/laws.hpp"
#include "properties/encodings/t5_bias/mutants/mutants.hpp"
#include "properties/generators/pair_positions.hpp"
#include "properties/harness/catalogue.hpp"
#include "reference/encodings/t5_bias.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

using core::counter_random;
using core::dtype;
using reference::bucket_map;
using distance_source = double (*)(const bucket_map& map, counter_random& random);
using entry_source = double (*)(dtype type, counter_random& random);

constexpr double furthest = 0x1p31;

double near(const bucket_map& map, counter_random& random) {
  if (random.one_in(6)) return 0.0;
  return random.sign() * static_cast<double>(random.below(static_cast<std::size_t>(map.of_direction() + 2)));
}
// The first or last distance of a bucket.
double at_boundary(const bucket_map& map, counter_random& random) {
  const std::int64_t logarithmic = map.of_direction() - map.exact();
  if (map.form == "clipped" || random.one_in(8))
    return random.sign() * static_cast<double>(map.of_direction() - 1 + static_cast<std::int64_t>(random.below(2)));
  const auto t = 1 + static_cast<std::int64_t>(random.below(static_cast<std::size_t>(logarithmic)));
  return random.sign() * static_cast<double>(reference::first_of_log_bucket(map, t) - (random.one_in(3) ? 1 : 0));
}
double near_power_of_two(const bucket_map& map, counter_random& random) {
  if (random.one_in(4)) return at_boundary(map, random);
  const double power = std::ldexp(1.0, static_cast<int>(random.below(32)));
  return random.sign() * std::min(furthest, power - 1 + static_cast<double>(random.below(3)));
}
double up_to_maximum(const bucket_map& map, counter_random& random) {
  if (random.one_in(2)) return at_boundary(map, random);
  return random.sign() * static_cast<double>(random.below(static_cast<std::size_t>(map.max_distance + 2)));
}
double far(const bucket_map&, counter_random& random) {
  return random.sign() * std::floor(std::exp2(random.uniform(0, 31)));
}

double normal(dtype, counter_random& random) { return random.normal(); }
double wide(dtype type, counter_random& random) {
  const auto f = core::format_of(type);
  const auto binades = static_cast<std::size_t>(f.max_exponent - f.min_exponent + f.precision);
  return random.sign() * std::ldexp(1.0, f.min_exponent - f.precision + 1 + static_cast<int>(random.below(binades)));
}
double number_or_nan(dtype, counter_random& random) {
  return random.one_in(3) ? std::numeric_limits<double>::quiet_NaN() : random.normal();
}

std::size_t draw_count(counter_random& random, extent size) {
  if (size.is_given()) return 5;
  if (size.range == lengths::exactly) return size.tokens;
  if (size.range == lengths::long_ones) return 200 + random.below(100);
  if (size.range == lengths::around_blocks) return (std::size_t{1} << (3 + random.below(4))) - 1 + random.below(3);
  return random.below(26);
}

using position_source = pair_positions (*)(const std::vector<double>& distances, counter_random& random, extent size);

// Queries all over the positions, of either sign and in no order; keys at the drawn distances from one of them.
pair_positions scattered_at(const std::vector<double>& distances, counter_random& random, extent size) {
  pair_positions positions{std::vector<double>(size.axis("n", size.is_given() ? 5 : 1 + random.below(5))), distances};
  for (double& query : positions.query)
    query = random.sign() * std::floor(std::exp2(random.uniform(0, random.one_in(2) ? 12 : 31)));
  if (positions.query.empty()) return positions;
  for (double& key : positions.key)
    key = std::clamp(key + positions.query[random.below(positions.query.size())], -furthest, furthest);
  return positions;
}

// One query whose keys lie at the drawn distances, and others near it.
pair_positions positions_at(const std::vector<double>& distances, counter_random& random, extent size) {
  const double first = static_cast<double>(random.below(2000));
  const std::size_t drawn = random.one_in(20) ? 0 : 1 + random.below(3);
  pair_positions positions{std::vector<double>(size.axis("n", size.is_given() ? 3 : drawn)), distances};
  for (std::size_t i = 0; i < positions.query.size(); ++i) positions.query[i] = first + static_cast<double>(i);
  for (double& key : positions.key) key = std::clamp(key + first, -furthest, furthest);
  return positions;
}

family filled_by(std::string name, std::string summary, distance_source distance, entry_source entry,
                 position_source positions_of = positions_at) {
  family f{std::move(name), std::move(summary)};
  f.generate = [distance, entry, positions_of](const core::operation& op, dtype type, const core::attributes& settings,
                                               counter_random& random, extent size) -> core::tensors {
    const bucket_map map = reference::encodings::t5_bias::map_of(settings);
    const bool buckets_alone = op.input("distance") != nullptr;
    std::vector<double> distances(size.axis(buckets_alone ? "n" : "m", draw_count(random, size)));
    for (double& d : distances) d = distance(map, random);
    if (buckets_alone) return {{"distance", core::make_tensor(dtype::i64, {distances.size()}, distances)}};
    const std::size_t drawn = random.one_in(40) ? 0 : 1 + random.below(2);
    const std::size_t heads = size.axis("h", size.is_given() ? 2 : drawn),
                      buckets = static_cast<std::size_t>(map.buckets);
    std::vector<double> table(heads * buckets);
    for (double& x : table) x = entry(type, random);
    core::tensors inputs{{"table", core::make_tensor(type, {heads, buckets}, table)}};
    add_positions(op, inputs, positions_of(distances, random, size));
    return inputs;
  };
  return f;
}

std::vector<usual_size> usual_sizes() {
  const std::vector<std::string> bucket{"t5_bias/bucket"}, bias{"t5_bias/bias"};
  return {
      {bucket, {{"n", 4097}}, true},
      {bucket, {{"n", 1023}}, true},
      {bucket, {{"n", 130}}, true, every_family},
      {bucket, {{"n", 65537}}},
      {bias, {{"h", 9}, {"n", 5}, {"m", 258}}, true},
      {bias, {{"h", 66}, {"n", 3}, {"m", 9}}, true},
      {bias, {{"h", 2}, {"n", 130}, {"m", 66}}, true},
      {bias, {{"h", 9}, {"n", 66}, {"m", 130}}, true},
      {bias, {{"h", 8}, {"n", 64}, {"m", 64}}, true},
      {bias, {{"h", 2}, {"n", 255}, {"m", 255}}, true},
      {bias, {{"h", 2}, {"n", 80}, {"m", 80}}, true, "scattered"},
      {bias, {{"h", 9}, {"n", 66}, {"m", 130}}, true, every_family},
      {bias, {{"h", 3}, {"n", 513}, {"m", 513}}},
      {bias, {{"h", 2}, {"n", 3}, {"m", 4097}}},
      {bias, {{"h", 2}, {"n", 4097}, {"m", 3}}},
  };
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "t5_bias";
  tests.families = {
      filled_by("mild", "distances within the buckets of one direction", near, normal),
      filled_by("boundaries", "first and last distances of the buckets", at_boundary, normal),
      filled_by("up_to_maximum", "distances up to the largest one told apart, many at the ends of buckets",
                up_to_maximum, normal),
      filled_by("powers_of_two", "distances next to powers of two", near_power_of_two, normal),
      filled_by("far", "distances up to 2^31", far, normal),
      filled_by("wide_table", "tables over the whole range of the format", up_to_maximum, wide),
      filled_by("scattered", "queries all over the positions, in no order, and keys near them", up_to_maximum, normal,
                scattered_at),
      filled_by("nan_inside", "a NaN in some buckets", near, number_or_nan),
  };
  tests.families.back().holds_nan = true;
  for (family& f : tests.families)
    if (f.name == "scattered" || f.holds_nan)
      f.applies = [](const core::operation& op) { return op.input("table") != nullptr; };
  tests.families.front().parts_classes = true;
  tests.sizes = usual_sizes();
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = t5_bucket_laws();
  for (property& law : pair_laws()) tests.laws.push_back(std::move(law));
  return tests;
}

}  // namespace assay::properties::encodings::t5_bias
