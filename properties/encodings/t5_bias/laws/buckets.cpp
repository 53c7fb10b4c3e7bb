// The laws of T5's bucket map.
#include <fmt/format.h>

#include "properties/encodings/t5_bias/laws/laws.hpp"
#include "properties/laws/settings.hpp"
#include "reference/encodings/t5_bias.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

using reference::bucket_map;

bucket_map map_of(const test_case& c) { return reference::encodings::t5_bias::map_of(c.call.attributes); }

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

// The first distance of every logarithmic bucket and the one before it, n = E as the end of the exact ones among them.
outcome check_ends(implementation& under_test, test_case c) {
  const bucket_map map = map_of(c);
  std::vector<double> distances;
  for (std::int64_t t = 0; t < map.of_direction() - map.exact(); ++t)
    for (const std::int64_t before : {0, 1})
      distances.push_back(
          static_cast<double>(before - (t == 0 ? map.exact() : reference::first_of_log_bucket(map, t))));
  c.call.inputs = {{"distance", core::make_tensor(core::dtype::i64, {distances.size()}, distances)}};
  return check_buckets(under_test, c, [](const bucket_map& m, double distance) -> std::optional<double> {
    return static_cast<double>(reference::bucket_of(m, distance));
  });
}

// Every logarithmic bucket begins at the distance that integers say, not before: with the order, the whole map.
outcome check_boundaries(implementation& under_test, const test_case& c) {
  if (map_of(c).form != "log") return {status::uninformative};
  return check_ends(under_test, c);
}

// The same under settings on which published orders of evaluation in f32 miss an end, and which few cases draw.
outcome check_hard_settings(implementation& under_test, const test_case& c) {
  struct hard {
    std::int64_t buckets, largest;
    bool bidirectional;
  };
  constexpr hard settings[] = {{8, 200, true}, {16, 400, true}, {32, 800, true}, {128, 100, false}};
  const hard& chosen = settings[c.seed % 4];
  test_case other = with_setting(with_setting(c, "buckets", chosen.buckets), "max_distance", chosen.largest);
  return check_ends(
      under_test, with_setting(with_setting(other, "bidirectional", chosen.bidirectional), "form", std::string("log")));
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
  comparisons all;
  for (std::size_t i = 0; i < distance.size(); ++i) {
    if (distance[i] <= 0) continue;
    const double after = there->outputs.at("bucket").values.storage()[i];
    const double before = back->outputs.at("bucket").values.storage()[i];
    if (!all.agree(map.bidirectional ? before + static_cast<double>(map.of_direction()) : 0.0, after, 0.0))
      return violated(
          fmt::format("distance {} has bucket {}, and {} has bucket {}", distance[i], after, -distance[i], before),
          there->outputs, back->outputs);
  }
  return all.result();
}

// Where both directions count, the first bucket of the keys after the query holds no distance.
outcome check_unused(implementation& under_test, const test_case& c) {
  if (!map_of(c).bidirectional) return {status::uninformative};
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const auto& buckets = call->outputs.at("bucket").values.storage();
  for (const double bucket : buckets)
    if (bucket == static_cast<double>(map_of(c).of_direction()))
      return violated(fmt::format("bucket {} is used", bucket), {}, call->outputs);
  return {buckets.size() > 0 ? status::passed : status::uninformative};
}

property law(const char* name, const char* summary, outcome (*check)(implementation&, const test_case&),
             std::size_t calls = 1) {
  property p{name, summary, [](const core::operation& op) { return op.name == "t5_bias/bucket"; }, check};
  p.calls = calls;
  return p;
}

}  // namespace

std::vector<property> t5_bucket_laws() {
  return {law("t5_identity", "the nearest distances have a bucket each", check_identity),
          law("t5_boundaries", "logarithmic buckets begin where integers say", check_boundaries),
          law("t5_hard_settings", "they do so where f32 is known to miss a boundary", check_hard_settings),
          law("t5_saturation", "the farthest distances share the last bucket", check_saturation),
          law("t5_order", "buckets rise with the distance, within their direction", check_order),
          law("t5_mirror", "keys after the query have buckets of their own", check_mirror, 2),
          law("t5_unused", "one bucket of both directions holds nothing", check_unused)};
}

}  // namespace assay::properties::encodings::t5_bias
