// The relative bias of T5 (Raffel et al., "Exploring the Limits of Transfer Learning", JMLR 2020, arXiv 1910.10683): a
// learned logit bias for each head and bucket of the distance rho = j - i of key j and query i (in the source's words
// memory position less query position), B_hij = table[h, bucket(rho)].
//
// With N buckets for one direction (all, or half of them where both directions count), E = floor(N / 2), D the largest
// distance told apart, and n = |rho| in both directions, n = max(-rho, 0) in one:
//
//   bucket = base + n                                                              for n < E
//            base + min(N - 1, E + floor((N - E) log(n / E) / log(D / E)))         otherwise      (tensorflow/mesh)
//
// where base = N for rho > 0 in both directions, 0 otherwise. Bucket N is never used then. The form `clipped` is base +
// min(n, N - 1) for all n, without D: in one direction the usual text-book bias r_min(i - j, N - 1). Keys after the
// query share bucket 0 with the query's own where one direction counts: they are masked elsewhere.
//
// Shapes: distance, bucket [n]; table [h, b]; positions of queries [n] and keys [m]; bias [h, n, m]. Buckets are exact:
// the floor is decided by integers (algorithms/log_buckets.hpp). An element of the table is copied, NaN included.
// Gradient: that of a bucket is the sum of its cotangents, exactly 0 where there are none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/algorithms/log_buckets.hpp"
#include "reference/derived_vjp.hpp"
#include "reference/operation_record.hpp"

namespace assay::reference::encodings {

struct t5_bias {
  static constexpr std::string_view name = "t5_bias";

  /// What algorithms and mutants replace.
  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    std::function<std::int64_t(const bucket_map& map, double distance)> bucket = bucket_of;
    std::function<R(const R& entry)> entry = [](const R& x) { return x; };
  };

  static bucket_map map_of(const core::attributes& settings);

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    return {bucket_record<R>(), bias_record<R>()};
  }

 private:
  template <class R>
  static record<R> bucket_record();
  template <class R>
  static record<R> bias_record();
  template <class R>
  static fields<R> bucket(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> bias(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static std::vector<std::size_t> bucket_of_pair(const arguments<R>& call, const recipe<R>& how);

  static constexpr double furthest = 0x1p31;
  static constexpr const char* source =
      "Raffel et al. 2020, arXiv 1910.10683; tensorflow/mesh, _relative_position_bucket";
  static core::tensor_declaration integer(const char* called, const char* axis, const char* meaning,
                                          core::input_role role) {
    return core::integers(called, {axis}, meaning, {-furthest, furthest}, role);
  }
  /// Those of the map; `buckets_axis` is the axis whose size the number of buckets is, or empty.
  static std::vector<core::attribute_declaration> map_attributes(const char* buckets_axis);
  static std::string conflict_of(const core::attributes& settings, const core::axis_sizes&) {
    return map_of(settings).conflict();
  }
};

inline bucket_map t5_bias::map_of(const core::attributes& settings) {
  return {core::setting<std::int64_t>(settings, "buckets"), core::setting<std::int64_t>(settings, "max_distance"),
          core::setting<bool>(settings, "bidirectional"), core::setting<std::string>(settings, "form")};
}

inline std::vector<core::attribute_declaration> t5_bias::map_attributes(const char* buckets_axis) {
  using std::int64_t, std::string;
  // Pairs of the two on which published code in f32 goes wrong by one are among them. Up to 256 bucket numbers are
  // exact in every format.
  return {{.name = "buckets",
           .meaning = "number of buckets, those of both directions",
           .standard = int64_t{32},
           .values = {int64_t{32}, int64_t{4}, int64_t{8}, int64_t{16}, int64_t{64}, int64_t{128}},
           .low = 2,
           .high = 256,
           .axis = buckets_axis},
          {.name = "max_distance",
           .meaning = "from here on all distances share the last bucket",
           .standard = int64_t{128},
           .values = {int64_t{128}, int64_t{256}, int64_t{200}, int64_t{400}, int64_t{800}, int64_t{100}},
           .low = 2,
           .high = furthest},
          {.name = "bidirectional",
           .meaning = "keys after the query have half of the buckets; else they count as 0",
           .standard = true,
           .values = {true, false}},
          {.name = "form",
           .meaning = "logarithmic beyond half of the buckets, or min(n, N - 1)",
           .standard = string("log"),
           .values = {string("log"), string("clipped")}}};
}

template <class R>
t5_bias::record<R> t5_bias::bucket_record() {
  return {.declaration = {.name = "t5_bias/bucket",
                          .source = source,
                          .inputs = {integer("distance", "n", "position of the key less that of the query",
                                             core::input_role::distance)},
                          .outputs = {integer("bucket", "n", "number of the bucket, from 0", core::input_role::value)},
                          .attributes = map_attributes(""),
                          .grows_with = &core::with_distance,
                          .independent = {"n"},
                          .conflict = conflict_of},
          .algorithms = one_algorithm,
          .forward = bucket<R>,
          .vjp = not_differentiable,
          .jvp = not_offered};
}

template <class R>
t5_bias::record<R> t5_bias::bias_record() {
  return {
      .declaration = {.name = "t5_bias/bias",
                      .source = source,
                      .inputs = {core::parameter("table", {"h", "b"}, "bias of each head and bucket"),
                                 integer("query_position", "n", "position of each query", core::input_role::position),
                                 integer("key_position", "m", "position of each key", core::input_role::position)},
                      // An element of the table, copied.
                      .outputs = {{.name = "bias",
                                   .axes = {"h", "n", "m"},
                                   .meaning = "logit bias, queries by keys",
                                   .scale = core::error_scale::relative}},
                      .attributes = map_attributes("b"),
                      .grows_with = &core::with_distance,
                      .independent = {"h", "n", "m"},
                      .conflict = conflict_of},
      .algorithms = one_algorithm,
      .forward = bias<R>,
      .vjp = derived_vjp<t5_bias, R>,
      .jvp = not_offered};
}

template <class R>
fields<R> t5_bias::bucket(const arguments<R>& call, const recipe<R>& how) {
  const bucket_map map = map_of(call.settings);
  const core::tensor& distance = call.integers.at("distance");
  field<R> bucket = make_field<R>(distance.shape());
  for (std::size_t i = 0; i < bucket.size(); ++i)
    bucket.storage()[i] = R(static_cast<double>(how.bucket(map, distance.values.storage()[i])));
  return {{"bucket", std::move(bucket)}};
}

template <class R>
std::vector<std::size_t> t5_bias::bucket_of_pair(const arguments<R>& call, const recipe<R>& how) {
  const bucket_map map = map_of(call.settings);
  std::vector<std::size_t> buckets;
  for (const double query : call.integers.at("query_position").values.storage())
    for (const double key : call.integers.at("key_position").values.storage())
      buckets.push_back(static_cast<std::size_t>(how.bucket(map, key - query)));
  return buckets;
}

template <class R>
fields<R> t5_bias::bias(const arguments<R>& call, const recipe<R>& how) {
  const field<R>& table = call["table"];
  const std::vector<std::size_t> bucket = bucket_of_pair(call, how);
  const std::size_t heads = table.shape(0), buckets = table.shape(1);
  field<R> bias =
      make_field<R>({heads, call.integers.at("query_position").size(), call.integers.at("key_position").size()});
  for (std::size_t k = 0; k < heads; ++k)
    for (std::size_t pair = 0; pair < bucket.size(); ++pair)
      bias.storage()[k * bucket.size() + pair] = how.entry(table.storage()[k * buckets + bucket[pair]]);
  return {{"bias", std::move(bias)}};
}

}  // namespace assay::reference::encodings
