// The relative bias of T5: distances near the ends of the buckets, and a law about these ends.
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/kinds/attention.hpp"
#include "properties/kinds/pair_bias.hpp"
#include "reference/encodings/t5_bias.hpp"

namespace assay::properties::encodings::t5_bias {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::counter_random;
using core::dtype;
using encoding = reference::encodings::t5_bias;
using reference::bucket_map;
using distance_source = double (*)(const bucket_map& map, counter_random& random);

constexpr double furthest = 0x1p31;

double near(const bucket_map& map, counter_random& random) {
  if (random.one_in(6)) return 0.0;
  return random.sign() * static_cast<double>(random.below(static_cast<std::size_t>(map.buckets_of_direction() + 2)));
}
// The first or last distance of a bucket.
double at_boundary(const bucket_map& map, counter_random& random) {
  const std::int64_t logarithmic = map.buckets_of_direction() - map.exact();
  if (map.form == "clipped" || random.one_in(8))
    return random.sign() *
           static_cast<double>(map.buckets_of_direction() - 1 + static_cast<std::int64_t>(random.below(2)));
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

double normal(std::string_view, dtype, counter_random& random) { return random.normal(); }
double wide(std::string_view, dtype type, counter_random& random) {
  const auto f = core::format_of(type);
  const auto binades = static_cast<std::size_t>(f.max_exponent - f.min_exponent + f.precision);
  return random.sign() * std::ldexp(1.0, f.min_exponent - f.precision + 1 + static_cast<int>(random.below(binades)));
}
double number_or_nan(std::string_view, dtype, counter_random& random) {
  return random.one_in(3) ? std::numeric_limits<double>::quiet_NaN() : random.normal();
}

std::vector<double> draw_distances(distance_source distance, const core::attributes& settings, counter_random& random,
                                   extent size, const char* axis) {
  const std::size_t drawn = size.is_given()                    ? 5
                            : size.range == lengths::exactly   ? size.tokens
                            : size.range == lengths::long_ones ? 200 + random.below(100)
                            : size.range == lengths::around_blocks
                                ? (std::size_t{1} << (3 + random.below(4))) - 1 + random.below(3)
                                : random.below(26);
  std::vector<double> all(size.axis(axis, drawn));
  for (double& d : all) d = distance(encoding::map_of(settings), random);
  return all;
}

/// Places queries, and keys at these distances from them.
using layout = pair_positions (*)(const std::vector<double>& distances, counter_random& random, extent size);

// One query with keys at the drawn distances, and further queries near it.
pair_positions around_one(const std::vector<double>& distances, counter_random& random, extent size) {
  const double first = static_cast<double>(random.below(2000));
  const std::size_t drawn = random.one_in(20) ? 0 : 1 + random.below(3);
  pair_positions positions{std::vector<double>(size.axis("n", size.is_given() ? 3 : drawn)), distances};
  for (std::size_t i = 0; i < positions.query.size(); ++i) positions.query[i] = first + static_cast<double>(i);
  for (double& key : positions.key) key = std::clamp(key + first, -furthest, furthest);
  return positions;
}
// Queries anywhere among the positions, of either sign and in no order; keys at the drawn distances from one of them.
pair_positions around_many(const std::vector<double>& distances, counter_random& random, extent size) {
  pair_positions positions{std::vector<double>(size.axis("n", size.is_given() ? 5 : 1 + random.below(5))), distances};
  for (double& query : positions.query)
    query = random.sign() * std::floor(std::exp2(random.uniform(0, random.one_in(2) ? 12 : 31)));
  if (positions.query.empty()) return positions;
  for (double& key : positions.key)
    key = std::clamp(key + positions.query[random.below(positions.query.size())], -furthest, furthest);
  return positions;
}

bool is_attention(const core::operation& op) { return op.input("v") != nullptr; }
bool is_no_attention(const core::operation& op) { return !is_attention(op); }
bool is_of_pairs(const core::operation& op) { return !is_attention(op) && op.input("distance") == nullptr; }
// Products of numbers over the whole range would overflow.
bool has_no_products(const core::operation& op) { return !is_attention(op) && op.input("w") == nullptr; }
// A family for attention, whose tokens are counted as they lie.
family attends(std::string name, std::string summary, input_filler fill) {
  return only_for(is_attention, attention_family(std::move(name), std::move(summary), std::move(fill)));
}
// Queries as in T5 at initialisation: without a scale, logits are of order 1.
void usual_queries(drawn_inputs& in, const core::operation&, dtype, counter_random&) {
  for (double& x : in.numbers.at("q")) x /= std::sqrt(static_cast<double>(in.sizes.at("d")));
}
// Distances beyond the exact buckets; few keys would not have them.
family with_many_keys() {
  family f = attends("many_keys", "distances of logarithmic buckets", usual_queries);
  f.settings = {{"buckets", {std::int64_t{4}, std::int64_t{8}, std::int64_t{16}}}};
  f.generate = [of_size = f.generate](const core::operation& op, dtype type, const core::attributes& settings,
                                      counter_random& random, extent size) {
    if (!size.is_given()) size = extent({{"n", 1 + random.below(3)}, {"m", 20 + random.below(60)}});
    return of_size(op, type, settings, random, std::move(size));
  };
  return f;
}
void large_biases(drawn_inputs& in, const core::operation& op, dtype type, counter_random& random) {
  usual_queries(in, op, type, random);
  for (double& x : in.numbers.at("table")) x *= 16;
}
void of_order_100(drawn_inputs& in, const core::operation& op, dtype type, counter_random& random) {
  usual_queries(in, op, type, random);
  large_logits(in, op, type, random);
}
void nan_in_a_row(drawn_inputs& in, const core::operation&, dtype, counter_random& random) {
  std::vector<double>& q = in.numbers.at("q");
  if (!q.empty()) q[random.below(q.size())] = std::numeric_limits<double>::quiet_NaN();
}

family at_distances(std::string name, std::string summary, distance_source distance, parameter_source entry,
                    layout place = around_one) {
  const family of_attention = attention_family(name, summary, usual_queries);
  family f = pair_bias_family(std::move(name), std::move(summary), entry,
                              [distance, place](const core::operation&, dtype, const core::attributes& settings,
                                                counter_random& random, extent size) {
                                return place(draw_distances(distance, settings, random, size, "m"), random, size);
                              });
  f.generate = [distance, of_pairs = f.generate, of_attention = of_attention.generate](
                   const core::operation& op, dtype type, const core::attributes& settings, counter_random& random,
                   extent size) -> core::tensors {
    if (is_attention(op)) return of_attention(op, type, settings, random, size);
    if (op.input("distance") == nullptr) return of_pairs(op, type, settings, random, size);
    const std::vector<double> distances = draw_distances(distance, settings, random, size, "n");
    return {{"distance", core::make_tensor(dtype::i64, {distances.size()}, distances)}};
  };
  return f;
}

// The first distance of every logarithmic bucket and the distance before it, with n = E, where the exact buckets end,
// among them. The settings are such that published orders of evaluation in f32 miss an end; few drawn cases have them.
void check_ends(experiment& e) {
  struct hard {
    std::int64_t buckets, largest;
    bool bidirectional;
  };
  constexpr hard settings[] = {{8, 200, true}, {16, 400, true}, {32, 800, true}, {128, 100, false}};
  const hard& chosen = settings[e.c.seed % 4];
  test_case c = with_settings(e.c, {{"buckets", chosen.buckets},
                                    {"max_distance", chosen.largest},
                                    {"bidirectional", chosen.bidirectional},
                                    {"form", std::string("log")}});
  const bucket_map map = encoding::map_of(c.call.attributes);
  std::vector<double> distances;
  for (std::int64_t t = 0; t < map.buckets_of_direction() - map.exact(); ++t)
    for (const std::int64_t before : {0, 1})
      distances.push_back(
          static_cast<double>(before - (t == 0 ? map.exact() : reference::first_of_log_bucket(map, t))));
  c.call.inputs = {{"distance", core::make_tensor(dtype::i64, {distances.size()}, distances)}};
  const numbers bucket(e.call(c), "bucket");
  for (std::size_t i = 0; i < distances.size(); ++i)
    e.equal(exactly(static_cast<double>(reference::bucket_of(map, distances[i]))), exactly(bucket.x[i]),
            "the bucket of distance {}", distances[i]);
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> bucket{"t5_bias/bucket"}, bias{"t5_bias/bias"}, attention{"t5_bias/attention"},
      biases{"t5_bias/bias", "t5_bias/contextual"};
  encoding_tests tests;
  tests.name = "t5_bias";
  tests.families = {
      parting_classes(at_distances("mild", "distances within the buckets of one direction", near, normal)),
      only_for(is_no_attention,
               at_distances("boundaries", "first and last distances of the buckets", at_boundary, normal)),
      only_for(is_no_attention,
               at_distances("up_to_maximum", "distances up to the largest one told apart, many at the ends of buckets",
                            up_to_maximum, normal)),
      only_for(is_no_attention,
               at_distances("powers_of_two", "distances next to powers of two", near_power_of_two, normal)),
      only_for(is_no_attention, at_distances("far", "distances up to 2^31", far, normal)),
      only_for(has_no_products,
               at_distances("wide_table", "tables over the whole range of the format", up_to_maximum, wide)),
      only_for(is_of_pairs, at_distances("scattered", "queries all over the positions, in no order, and keys near them",
                                         up_to_maximum, normal, around_many)),
      holding_nan(only_for(is_of_pairs, at_distances("nan_inside", "a NaN in some buckets", near, number_or_nan))),
      with_many_keys(),
      attends("large_logits", "logits of order 100: exp of them overflows", of_order_100),
      attends("large_biases", "biases of order 16", large_biases),
      holding_nan(attends("nan_in_a_query", "a NaN in a query", nan_in_a_row)),
  };
  tests.sizes = pair_bias_sizes(bias);
  add_sizes_of_places(tests.sizes, attention);
  // Pairs are expensive: other sizes test the numbers of buckets.
  for (usual_size& u : tests.sizes)
    if (u.functions == attention && u.always &&
        u.axes.at("B") * u.axes.at("h") * u.axes.at("n") * u.axes.at("m") >= 16384)
      u.settings = {{"buckets", std::int64_t{32}}, {"max_distance", std::int64_t{128}}};
  tests.long_ones = {long_calls_of_places(attention)};
  for (const usual_size& size : std::vector<usual_size>{{bucket, {{"n", 4097}}, true},
                                                        {bucket, {{"n", 1023}}, true},
                                                        {bucket, {{"n", 130}}, true, every_family},
                                                        {bucket, {{"n", 65537}}}})
    tests.sizes.push_back(size);
  tests.rests_on_convention = has_query_before_keys;
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = laws_of_distance("t5", biases, {});
  tests.laws.push_back(law_of_cached_queries("t5", attention.front(), {"mild", "large_logits", "large_biases"}));
  tests.laws.push_back(law("t5_hard_settings", "logarithmic buckets begin where integers say, where f32 misses it",
                           {bucket}, {1, check_ends}));
  return tests;
}

}  // namespace assay::properties::encodings::t5_bias
