#include "properties/laws/t5_bias.hpp"

#include <fmt/format.h>

#include <cmath>

#include "properties/laws/settings.hpp"
#include "reference/algorithms/log_buckets.hpp"
#include "reference/encodings/t5_bias.hpp"

namespace assay::properties {
namespace {

using reference::bucket_map;

bucket_map map_of(const test_case& c) { return reference::t5_bias::map_of(c.call.attributes); }

// Checks every distance and bucket of a call; `wrong` says what is wrong with one.
template <class Wrong>
outcome check_buckets(implementation& under_test, const test_case& c, Wrong wrong) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const auto& distance = c.call.inputs.at("distance").values.storage();
  const auto& bucket = call->outputs.at("bucket").values.storage();
  bool said = false;
  for (std::size_t i = 0; i < distance.size(); ++i) {
    const std::optional<double> wanted = wrong(map_of(c), distance[i]);
    said = said || wanted.has_value();
    if (wanted && bucket[i] != *wanted)
      return violated(fmt::format("distance {} has bucket {} instead of {}", distance[i], bucket[i], *wanted), {},
                      call->outputs);
  }
  return {said ? status::passed : status::uninformative};
}

// The nearest distances have a bucket each.
outcome check_identity(implementation& under_test, const test_case& c) {
  return check_buckets(under_test, c, [](const bucket_map& map, double distance) -> std::optional<double> {
    const double n = map.magnitude(distance);
    const std::int64_t single = map.form == "clipped" ? map.of_direction() : map.exact();
    if (n >= static_cast<double>(single)) return std::nullopt;
    return static_cast<double>(map.base(distance)) + n;
  });
}

// Every logarithmic bucket begins at the distance that integers say, not before: with the order, the whole map.
outcome check_boundaries(implementation& under_test, const test_case& c) {
  const bucket_map map = map_of(c);
  if (map.form != "log") return {status::uninformative};
  std::vector<double> distances;
  for (std::int64_t t = 1; t < map.of_direction() - map.exact(); ++t)
    for (const std::int64_t before : {0, 1})
      distances.push_back(static_cast<double>(before - reference::first_of_log_bucket(map, t)));
  test_case all = c;
  all.call.inputs = {{"distance", core::make_tensor(core::dtype::i64, {distances.size()}, distances)}};
  return check_buckets(under_test, all, [](const bucket_map& m, double distance) -> std::optional<double> {
    return static_cast<double>(reference::bucket_of(m, distance));
  });
}

// From the largest distance on all share the last bucket of their direction.
outcome check_saturation(implementation& under_test, const test_case& c) {
  return check_buckets(under_test, c, [](const bucket_map& map, double distance) -> std::optional<double> {
    const std::int64_t from = map.form == "clipped" ? map.of_direction() - 1 : map.max_distance;
    if (map.magnitude(distance) < static_cast<double>(from)) return std::nullopt;
    return static_cast<double>(map.base(distance) + map.of_direction() - 1);
  });
}

// Buckets of one direction never fall with the distance, and stay in its range.
outcome check_order(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const bucket_map map = map_of(c);
  const auto& distance = c.call.inputs.at("distance").values.storage();
  const auto& bucket = call->outputs.at("bucket").values.storage();
  for (std::size_t i = 0; i < distance.size(); ++i) {
    const auto first = static_cast<double>(map.base(distance[i]));
    if (!(bucket[i] >= first && bucket[i] < first + static_cast<double>(map.of_direction())))
      return violated(fmt::format("distance {} has bucket {}, outside those of its direction", distance[i], bucket[i]),
                      {}, call->outputs);
    for (std::size_t j = 0; j < distance.size(); ++j) {
      if (map.base(distance[i]) != map.base(distance[j])) continue;
      if (map.magnitude(distance[i]) >= map.magnitude(distance[j]) && !(bucket[i] >= bucket[j]))
        return violated(
            fmt::format("distances {} and {} have buckets {} and {}", distance[j], distance[i], bucket[j], bucket[i]),
            {}, call->outputs);
    }
  }
  return {distance.size() > 1 ? status::passed : status::uninformative};
}

// Keys after the query: the buckets of those before it, N further on; bucket 0 where one direction counts.
outcome check_mirror(implementation& under_test, const test_case& c) {
  test_case mirrored = c;
  for (double& d : mirrored.call.inputs.at("distance").values.storage()) d = -d;
  const auto there = measure(under_test, c);
  if (!there) return there.error();
  const auto back = measure(under_test, mirrored);
  if (!back) return back.error();
  const bucket_map map = map_of(c);
  const auto& distance = c.call.inputs.at("distance").values.storage();
  for (std::size_t i = 0; i < distance.size(); ++i) {
    if (distance[i] <= 0) continue;
    const double after = there->outputs.at("bucket").values.storage()[i];
    const double before = back->outputs.at("bucket").values.storage()[i];
    if (after != (map.bidirectional ? before + static_cast<double>(map.of_direction()) : 0.0))
      return violated(
          fmt::format("distance {} has bucket {}, and {} has bucket {}", distance[i], after, -distance[i], before),
          there->outputs, back->outputs);
  }
  return {distance.size() > 0 ? status::passed : status::uninformative};
}

// Where both directions count, the first bucket of the keys after the query holds no distance.
outcome check_unused(implementation& under_test, const test_case& c) {
  if (!map_of(c).bidirectional) return {status::uninformative};
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  for (const double bucket : call->outputs.at("bucket").values.storage())
    if (bucket == static_cast<double>(map_of(c).of_direction()))
      return violated(fmt::format("bucket {} is used", bucket), {}, call->outputs);
  return {};
}

test_case with_table(const test_case& c, double (*entry)(std::size_t head, std::size_t bucket)) {
  test_case other = c;
  core::tensor& table = other.call.inputs.at("table");
  const std::size_t buckets = table.shape()[1];
  for (std::size_t i = 0; i < table.size(); ++i) table.values.storage()[i] = entry(i / buckets, i % buckets);
  return other;
}

// All tokens later: the same bias, bit by bit.
outcome check_shift(implementation& under_test, const test_case& c) {
  test_case later = c;
  for (const char* name : {"query_position", "key_position"})
    for (double& p : later.call.inputs.at(name).values.storage())
      if (!c.call.operation->input(name)->domain.contains(p += static_cast<double>(1 + c.seed % 1000)))
        return {status::uninformative};
  const auto before = measure(under_test, c);
  if (!before) return before.error();
  const auto after = measure(under_test, later);
  if (!after) return after.error();
  if (core::identical(before->outputs.at("bias"), after->outputs.at("bias"))) return {};
  return violated("all tokens later: the bias changed", before->outputs, after->outputs);
}

// A constant on all buckets is on all pairs. The numbers are exact in every format.
outcome check_constant(implementation& under_test, const test_case& c) {
  const auto uneven = [](std::size_t head, std::size_t bucket) {
    return static_cast<double>((37 * head + 11 * bucket) % 64);
  };
  const auto raised = [](std::size_t head, std::size_t bucket) {
    return 64.0 + static_cast<double>((37 * head + 11 * bucket) % 64);
  };
  const auto before = measure(under_test, with_table(c, uneven));
  if (!before) return before.error();
  const auto after = measure(under_test, with_table(c, raised));
  if (!after) return after.error();
  const auto& x = before->outputs.at("bias").values.storage();
  const auto& y = after->outputs.at("bias").values.storage();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (y[i] != x[i] + 64.0)
      return violated(fmt::format("64 added to the table makes {} of a bias of {}", y[i], x[i]), before->outputs,
                      after->outputs);
  return {x.size() > 0 ? status::passed : status::uninformative};
}

// A table of the bucket numbers gives the buckets of the operation that is named so.
outcome check_numbers(implementation& under_test, const test_case& c) {
  const core::operation& bucket = *reference::find_operation("t5_bias/bucket");
  if (!under_test.describe().offers(bucket.name, c.call.type)) return {status::unsupported};
  const auto biased =
      measure(under_test, with_table(c, [](std::size_t, std::size_t b) { return static_cast<double>(b); }));
  if (!biased) return biased.error();
  const auto& queries = c.call.inputs.at("query_position").values.storage();
  const auto& keys = c.call.inputs.at("key_position").values.storage();
  std::vector<double> distances;
  for (const double query : queries)
    for (const double key : keys) distances.push_back(key - query);
  test_case alone = c;
  alone.call.operation = &bucket;
  alone.call.inputs = {{"distance", core::make_tensor(core::dtype::i64, {distances.size()}, distances)}};
  const auto numbered = measure(under_test, alone);
  if (!numbered) return numbered.error();
  const auto& bias = biased->outputs.at("bias").values.storage();
  const auto& wanted = numbered->outputs.at("bucket").values.storage();
  for (std::size_t i = 0; i < bias.size(); ++i)
    if (bias[i] != wanted[i % wanted.size()])
      return violated(fmt::format("distance {}: the bias reads bucket {}, the operation says {}",
                                  distances[i % distances.size()], bias[i], wanted[i % wanted.size()]),
                      numbered->outputs, biased->outputs);
  return {bias.size() > 0 ? status::passed : status::uninformative};
}

// Every cotangent goes to one bucket: the gradients of a head add up to its cotangents; the unused bucket gets none.
outcome check_partition(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const numbers grad(*call, "grad_table");
  const auto& cotangents = c.call.inputs.at("grad_bias").values.storage();
  const auto buckets = static_cast<std::size_t>(map_of(c).buckets), heads = grad.x.size() / buckets;
  for (std::size_t k = 0, pairs = heads ? cotangents.size() / heads : 0; k < heads; ++k) {
    double given = 0, received = 0, allowed = 0;
    for (std::size_t p = k * pairs; p < (k + 1) * pairs; ++p) {
      given += cotangents[p];
      allowed += 0x1p-44 * std::fabs(cotangents[p]);
    }
    for (std::size_t b = k * buckets; b < (k + 1) * buckets; ++b) {
      received += grad.x[b];
      allowed += grad.allowed[b];
    }
    if (!agree(given, received, allowed))
      return violated(
          fmt::format("head {}: cotangents add up to {:.9g}, gradients to {:.9g}, allowed difference {:.3g}", k, given,
                      received, allowed),
          {}, call->outputs);
  }
  return {cotangents.size() > 0 ? status::passed : status::uninformative};
}

outcome check_unused_gradient(implementation& under_test, const test_case& c) {
  if (!map_of(c).bidirectional) return {status::uninformative};
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const core::tensor& grad = call->outputs.at("grad_table");
  const std::size_t buckets = grad.shape()[1];
  for (std::size_t k = 0; k < grad.shape()[0]; ++k)
    if (const double x = grad.values.storage()[k * buckets + buckets / 2]; x != 0.0)
      return violated(fmt::format("head {}: the unused bucket has the gradient {}", k, x), {}, call->outputs);
  return {};
}

property law(const char* operation, const char* name, const char* summary,
             outcome (*check)(implementation&, const test_case&), std::size_t calls = 1) {
  property p{name, summary, [operation](const core::operation& op) { return op.name == operation; }, check};
  p.calls = calls;
  return p;
}

}  // namespace

std::vector<property> t5_bias_laws() {
  const char *bucket = "t5_bias/bucket", *bias = "t5_bias/bias", *gradient = "t5_bias/bias:vjp";
  return {
      law(bucket, "t5_identity", "the nearest distances have a bucket each", check_identity),
      law(bucket, "t5_boundaries", "logarithmic buckets begin where integers say", check_boundaries),
      law(bucket, "t5_saturation", "the farthest distances share the last bucket", check_saturation),
      law(bucket, "t5_order", "buckets rise with the distance, within their direction", check_order),
      law(bucket, "t5_mirror", "keys after the query have buckets of their own", check_mirror, 2),
      law(bucket, "t5_unused", "one bucket of both directions holds nothing", check_unused),
      law(bias, "t5_shift", "all tokens later: the same bias", check_shift, 2),
      law(bias, "t5_constant", "a constant on the table is on every bias", check_constant, 2),
      law(bias, "t5_numbers", "the bias reads the buckets of t5_bias/bucket", check_numbers, 2),
      law(gradient, "t5_partition", "gradients add up to the cotangents", check_partition),
      law(gradient, "t5_unused_gradient", "the unused bucket has no gradient", check_unused_gradient),
  };
}

}  // namespace assay::properties
