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
#include "reference/core/operation.hpp"
#include "reference/readings/reading.hpp"

namespace assay::reference::encodings {

/// The gradient of one head's table: each bucket gets the sum of the cotangents of its pairs.
template <class R>
void scatter_to_buckets(const std::vector<std::size_t>& bucket_of_pair, const R* grad_bias, lane<R> grad_table) {
  std::vector<accumulator<R>> sums(grad_table.size());
  for (std::size_t pair = 0; pair < bucket_of_pair.size(); ++pair)
    sums[bucket_of_pair[pair]].add(charged(grad_bias[pair]));
  for (std::size_t b = 0; b < sums.size(); ++b) grad_table[b] = sums[b].total();
}

struct t5_bias {
  static constexpr std::string_view name = "t5_bias";

  static std::vector<core::operation> operations();

  /// What algorithms and mutants replace.
  template <class R>
  struct recipe {
    std::function<std::int64_t(const bucket_map& map, double distance)> bucket = bucket_of;
    std::function<R(const R& entry)> entry = [](const R& x) { return x; };
    std::function<void(const std::vector<std::size_t>& bucket_of_pair, const R* grad_bias, lane<R> grad_table)>
        scatter = scatter_to_buckets<R>;
  };

  static bucket_map map_of(const core::attributes& settings);

  template <class R>
  static fields<R> evaluate(const arguments<R>& call, const recipe<R>& how);
};

inline bucket_map t5_bias::map_of(const core::attributes& settings) {
  return {core::setting<std::int64_t>(settings, "buckets"), core::setting<std::int64_t>(settings, "max_distance"),
          core::setting<bool>(settings, "bidirectional"), core::setting<std::string>(settings, "form")};
}

inline std::vector<core::operation> t5_bias::operations() {
  constexpr double furthest = 0x1p31;
  const char* source = "Raffel et al. 2020, arXiv 1910.10683; tensorflow/mesh, _relative_position_bucket";
  const core::value_domain finite{}, integers{-furthest, furthest};
  const auto integer = [&](const char* name, const char* axis, const char* meaning) {
    core::tensor_declaration d{name, {axis}, integers, false, meaning};
    d.own_type = core::dtype::i64;
    return d;
  };
  core::operation bucket{"t5_bias/bucket",
                         {integer("distance", "n", "position of the key less that of the query")},
                         {integer("bucket", "n", "number of the bucket, from 0")},
                         {},
                         source};
  bucket.independent = {"n"};
  // Pairs of the two on which published code in f32 goes wrong by one are among them. Up to 256 bucket numbers are
  // exact in every format.
  const std::vector<core::attribute> sizes{std::int64_t{32}, std::int64_t{4},  std::int64_t{8},
                                           std::int64_t{16}, std::int64_t{64}, std::int64_t{128}},
      maxima{std::int64_t{128}, std::int64_t{256}, std::int64_t{200},
             std::int64_t{400}, std::int64_t{800}, std::int64_t{100}};
  bucket.attributes = {
      {"buckets", std::int64_t{32}, sizes, "number of buckets, those of both directions", 2, 256},
      {"max_distance", std::int64_t{128}, maxima, "from here on all distances share the last bucket", 2, furthest},
      {"bidirectional", true, {true, false}, "keys after the query have half of the buckets; else they count as 0"},
      {"form",
       std::string("log"),
       {std::string("log"), std::string("clipped")},
       "logarithmic beyond half of the buckets, or min(n, N - 1)"}};
  bucket.conflict = [](const core::attributes& settings, const core::axis_sizes&) {
    return map_of(settings).conflict();
  };

  core::operation bias = bucket;
  bias.name = "t5_bias/bias";
  bias.inputs = {{"table", {"h", "b"}, finite, true, "bias of each head and bucket"},
                 integer("query_position", "n", "position of each query"),
                 integer("key_position", "m", "position of each key")};
  bias.outputs = {{"bias", {"h", "n", "m"}, finite, true, "logit bias, queries by keys"}};
  bias.independent = {"h", "n", "m"};
  bias.attributes[0].axis = "b";
  return {bucket, bias};
}

template <class R>
fields<R> t5_bias::evaluate(const arguments<R>& call, const recipe<R>& how) {
  const bucket_map map = map_of(call.settings);
  if (call.operation == "t5_bias/bucket") {
    const core::tensor& distance = call.integers.at("distance");
    field<R> bucket = make_field<R>(distance.shape());
    for (std::size_t i = 0; i < bucket.size(); ++i)
      bucket.storage()[i] = R(static_cast<double>(how.bucket(map, distance.values.storage()[i])));
    return {{"bucket", std::move(bucket)}};
  }
  const auto& queries = call.integers.at("query_position").values.storage();
  const auto& keys = call.integers.at("key_position").values.storage();
  const field<R>& table = call["table"];
  const std::size_t heads = table.shape(0), buckets = table.shape(1), pairs = queries.size() * keys.size();
  std::vector<std::size_t> bucket_of_pair;
  for (const double query : queries)
    for (const double key : keys) bucket_of_pair.push_back(static_cast<std::size_t>(how.bucket(map, key - query)));
  if (call.operation.ends_with(":vjp")) {
    field<R> grad = make_field<R>({heads, buckets});
    for (std::size_t k = 0; k < heads; ++k)
      how.scatter(bucket_of_pair, call["grad_bias"].data() + k * pairs, {grad.data() + k * buckets, 1, buckets});
    return {{"grad_table", std::move(grad)}};
  }
  field<R> bias = make_field<R>({heads, queries.size(), keys.size()});
  for (std::size_t k = 0; k < heads; ++k)
    for (std::size_t pair = 0; pair < pairs; ++pair)
      bias.storage()[k * pairs + pair] = how.entry(table.storage()[k * buckets + bucket_of_pair[pair]]);
  return {{"bias", std::move(bias)}};
}

}  // namespace assay::reference::encodings
