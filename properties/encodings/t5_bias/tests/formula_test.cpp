// The bucket map of T5 compared with pure integer arithmetic, for every distance up to 2^20. Beyond the largest
// distance that buckets distinguish, the definition itself says that nothing changes.
#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "properties/builtin.hpp"
#include "properties/kinds/pair_bias.hpp"
#include "reference/algorithms/log_buckets.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;
using boost::multiprecision::cpp_int;
using reference::bucket_map;

namespace {

/// The number of buckets and the largest distance of one direction.
struct direction {
  std::int64_t buckets, largest;
};

// The defaults; the settings for which reciprocals in f32 are off by one; an odd number of buckets.
constexpr direction directions[] = {{16, 128}, {32, 128}, {4, 200}, {8, 400}, {16, 800}, {128, 100}, {7, 50}};

// The definition, by trying every t: D^t E^(N-E-t) <= n^(N-E).
std::vector<std::int64_t> buckets_by_definition(direction d) {
  const std::int64_t exact = d.buckets / 2, logarithmic = d.buckets - exact;
  const auto power = [](std::int64_t base, std::int64_t e) -> cpp_int {
    return boost::multiprecision::pow(cpp_int(base), static_cast<unsigned>(e));
  };
  std::vector<cpp_int> bounds;
  for (std::int64_t t = 0; t <= logarithmic; ++t) bounds.push_back(power(d.largest, t) * power(exact, logarithmic - t));
  std::vector<std::int64_t> all;
  for (std::int64_t n = 0; n <= d.largest; ++n) {
    std::int64_t bucket = n;
    for (std::int64_t t = 0; n >= exact && t <= logarithmic; ++t)
      if (bounds[static_cast<std::size_t>(t)] <= power(n, logarithmic)) bucket = std::min(d.buckets - 1, exact + t);
    all.push_back(bucket);
  }
  return all;
}

constexpr std::int64_t reach = std::int64_t{1} << 20;

const core::tensors& every_distance() {
  static const core::tensors all = [] {
    core::tensor t = core::zeros(core::dtype::i64, {2 * reach + 1});
    for (std::int64_t d = -reach; d <= reach; ++d)
      t.values.storage()[static_cast<std::size_t>(d + reach)] = static_cast<double>(d);
    return core::tensors{{"distance", t}};
  }();
  return all;
}

core::request sweep(direction d, bool bidirectional) {
  return {reference::find_operation("t5_bias/bucket"),
          core::dtype::f64,
          every_distance(),
          {{"buckets", d.buckets * (bidirectional ? 2 : 1)},
           {"max_distance", d.largest},
           {"bidirectional", bidirectional}}};
}

// The first distance with a wrong bucket, if any.
std::optional<std::int64_t> first_wrong(const core::tensor& bucket, direction d, bool bidirectional) {
  const std::vector<std::int64_t> right = buckets_by_definition(d);
  for (std::int64_t rho = -reach; rho <= reach; ++rho) {
    const std::int64_t n = rho > 0 && !bidirectional ? 0 : std::abs(rho);
    const std::int64_t wanted =
        right[static_cast<std::size_t>(std::min(n, d.largest))] + (rho > 0 && bidirectional ? d.buckets : 0);
    if (bucket.values.storage()[static_cast<std::size_t>(rho + reach)] != static_cast<double>(wanted)) return rho;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("t5_bias/bucket/exact_up_to_1048576", "[property][t5_bias]") {
  for (const char* builtin : {"optimized", "sequential"})
    for (const direction d : directions)
      for (const bool bidirectional : {true, false}) {
        INFO(builtin << ", " << d.buckets << " buckets a direction, up to " << d.largest
                     << (bidirectional ? ", both" : ", one"));
        const auto outputs = make_builtin(builtin).value()->evaluate(sweep(d, bidirectional));
        REQUIRE(outputs);
        CHECK_FALSE(first_wrong(outputs->at("bucket"), d, bidirectional));
      }
}

// For each order of evaluation, exactly these distances get a wrong bucket.
TEST_CASE("t5_bias/bucket/distances_that_flip", "[property][t5_bias]") {
  using flips = std::map<std::int64_t, std::int64_t>;  // from distance to its wrong bucket
  const auto flipped = [](const char* variant, direction d, bool bidirectional) {
    const auto outputs = make_builtin(variant).value()->evaluate(sweep(d, bidirectional));
    const std::vector<std::int64_t> right = buckets_by_definition(d);
    flips all;
    for (std::int64_t n = 0; n <= reach; ++n) {
      const auto bucket =
          static_cast<std::int64_t>(outputs.value().at("bucket").values.storage()[static_cast<std::size_t>(reach - n)]);
      if (bucket != right[static_cast<std::size_t>(std::min(n, d.largest))]) all[n] = bucket;
    }
    return all;
  };
  constexpr direction both{16, 128}, one{32, 128}, hard{128, 100};
  CHECK(flipped("mutant/t5_log_one_ulp_low", both, true) == flips{{16, 9}, {32, 11}, {64, 13}});
  CHECK(flipped("mutant/t5_log_one_ulp_low", one, false).empty());
  CHECK(flipped("mutant/t5_buckets_in_bf16", both, true) == flips{{45, 13}, {90, 15}});
  CHECK(flipped("mutant/t5_buckets_in_bf16", one, false) == flips{{76, 28}, {112, 31}});
  CHECK(flipped("mutant/t5_by_reciprocal", {4, 200}, true) == flips{{20, 2}});
  CHECK(flipped("mutant/t5_by_reciprocal", {8, 400}, true) == flips{{40, 5}});
  CHECK(flipped("mutant/t5_by_reciprocal", {16, 800}, true) == flips{{80, 11}});
  for (const char* variant : {"mutant/t5_by_reciprocal", "mutant/t5_f32_log_in_f64"}) {
    INFO(variant);
    CHECK(flipped(variant, both, true).empty());
    CHECK(flipped(variant, one, false).empty());
    CHECK(flipped(variant, hard, false) == flips{{80, 95}});
  }
  for (const char* variant : {"control/t5_in_f32", "control/t5_product_first", "control/t5_folded_constant",
                              "control/t5_mixed_order", "control/t5_with_epsilon"}) {
    INFO(variant);
    CHECK(flipped(variant, both, true).empty());
    CHECK(flipped(variant, one, false).empty());
  }
}

// Four buckets for each direction, two of them exact: distances 0, -1, -2 and -128 before the query, 1 and 2 after it.
TEST_CASE("t5_bias/bias/by_hand", "[property][t5_bias]") {
  const core::tensor bias = bias_by_hand("t5_bias/bias", {{"table", {0, 1, 2, 3, 4, 5, 6, 7}}}, {200},
                                         {200, 199, 198, 72, 201, 202}, {{"buckets", std::int64_t{8}}});
  CHECK(std::vector<double>(bias.values.begin(), bias.values.end()) == std::vector<double>{0, 1, 2, 3, 5, 6});
}

// Two heads, two features, four buckets: the query (1, 10) picks w[:, bucket].
TEST_CASE("t5_bias/contextual/by_hand", "[property][t5_bias]") {
  core::request call{reference::find_operation("t5_bias/contextual"),
                     core::dtype::f64,
                     {},
                     {{"buckets", std::int64_t{4}}, {"bidirectional", false}, {"form", std::string("clipped")}}};
  call.inputs = {{"q", core::make_tensor(call.type, {1, 1, 1, 2}, {1.0, 10.0})},
                 {"w", core::make_tensor(call.type, {1, 2, 4}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0})},
                 {"query_position", core::make_tensor(core::dtype::i64, {1}, {7.0})},
                 {"key_position", core::make_tensor(core::dtype::i64, {4}, {7.0, 6.0, 0.0, 9.0})}};
  const core::tensor bias = reference::certify(call).at("bias").rounded;
  CHECK(bias.shape() == core::shape{1, 1, 1, 4});
  CHECK(std::vector<double>(bias.values.begin(), bias.values.end()) == std::vector<double>{51, 62, 84, 51});
}

// T5 with clipped buckets of one direction and table[t] = -m t equals ALiBi, bit by bit, up to the last distance that
// buckets distinguish: the bias, and attention with it.
TEST_CASE("t5_bias/bias/clipped_in_one_direction_is_alibi", "[property][t5_bias]") {
  constexpr std::size_t heads = 3, buckets = 16;
  for (const core::dtype type : {core::dtype::f64, core::dtype::f32, core::dtype::bf16}) {
    core::counter_random random(7);
    std::vector<double> slopes, table, queries, keys;
    for (std::size_t h = 0; h < heads; ++h) slopes.push_back(core::round_to(type, random.uniform()));
    for (const double m : slopes)
      for (std::size_t t = 0; t < buckets; ++t) table.push_back(core::round_to(type, -m * static_cast<double>(t)));
    for (std::size_t j = 0; j < buckets; ++j) queries.push_back(static_cast<double>(j));
    keys = queries;
    const core::attributes clipped{
        {"buckets", static_cast<std::int64_t>(buckets)}, {"bidirectional", false}, {"form", std::string("clipped")}};
    core::tensors t5_inputs{{"table", core::make_tensor(type, {heads, buckets}, table)}},
        alibi_inputs{{"slopes", core::make_tensor(type, {heads}, slopes)}};
    for (core::tensors* all : {&t5_inputs, &alibi_inputs})
      for (const char* position : {"query_position", "key_position"})
        all->emplace(position, core::make_tensor(core::dtype::i64, {buckets}, queries));
    const auto bits = [&](const char* builtin, const char* name, const core::tensors& inputs,
                          const core::attributes& settings, const char* output) {
      const core::operation& op = *reference::find_operation(name);
      return make_builtin(builtin).value()->evaluate({&op, type, inputs, settings}).value().at(output);
    };
    for (const char* builtin : {"sequential", "optimized"}) {
      if (type == core::dtype::bf16 && std::string(builtin) == "optimized") continue;
      core::tensor t5 = bits(builtin, "t5_bias/bias", t5_inputs, clipped, "bias");
      const core::tensor alibi = bits(builtin, "alibi/bias", alibi_inputs, {}, "bias");
      std::size_t seen = 0;
      for (std::size_t p = 0; p < t5.size(); ++p) {
        if (p % buckets > p / buckets % buckets) continue;  // masked by the caller
        CHECK(t5.values.storage()[p] == alibi.values.storage()[p]);
        ++seen;
      }
      CHECK(seen == heads * buckets * (buckets + 1) / 2);
    }
    if (type == core::dtype::bf16) continue;  // a slope times a distance is not representable in bf16
    core::tensors attends;
    for (const char* input : {"q", "k", "v"}) {
      core::tensor x = core::zeros(type, {2, heads, buckets, 4});
      for (double& y : x.values.storage()) y = core::round_to(type, random.normal());
      attends.emplace(input, std::move(x));
    }
    core::tensors by_table = attends, by_slopes = attends;
    by_table.emplace("table", t5_inputs.at("table"));
    by_slopes.emplace("slopes", alibi_inputs.at("slopes"));
    core::attributes causal = clipped;
    causal.insert({{"causal", true}, {"scale", std::string("inverse_sqrt")}});
    CHECK(core::identical(bits("sequential", "t5_bias/attention", by_table, causal, "o"),
                          bits("sequential", "alibi/attention", by_slopes, {}, "o")));
  }
}

// The known first distances of the logarithmic buckets, for the two defaults.
TEST_CASE("t5_bias/bucket/known_boundaries", "[property][t5_bias]") {
  const auto boundaries = [](const bucket_map& map) {
    std::vector<std::int64_t> all{map.exact()};
    for (std::int64_t t = 1; t < map.buckets_of_direction() - map.exact(); ++t)
      all.push_back(reference::first_of_log_bucket(map, t));
    return all;
  };
  CHECK(boundaries({32, 128, true}) == std::vector<std::int64_t>{8, 12, 16, 23, 32, 46, 64, 91});
  CHECK(boundaries({32, 128, false}) ==
        std::vector<std::int64_t>{16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113});
}

TEST_CASE("t5_bias/bucket/settings_that_do_not_go_together", "[property][t5_bias]") {
  CHECK(bucket_map{32, 128, true}.conflict().empty());
  CHECK(bucket_map{7, 128, false}.conflict().empty());
  CHECK_FALSE(bucket_map{7, 128, true}.conflict().empty());
  CHECK_FALSE(bucket_map{2, 128, true}.conflict().empty());
  CHECK(bucket_map{2, 128, false}.conflict().empty());
  CHECK_FALSE(bucket_map{32, 8, true}.conflict().empty());
  const core::operation& op = *reference::find_operation("t5_bias/bucket");
  const core::request call{
      &op, core::dtype::f32, {{"distance", core::zeros(core::dtype::i64, {3})}}, {{"buckets", std::int64_t{7}}}};
  CHECK_FALSE(core::check_request(call));
}
