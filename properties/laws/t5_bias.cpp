#include "properties/laws/t5_bias.hpp"

#include <fmt/format.h>

#include <cmath>

#include "properties/laws/settings.hpp"
#include "reference/encodings/t5_bias.hpp"

namespace assay::properties {
namespace {

using reference::bucket_map;

bucket_map map_of(const test_case& c) { return reference::t5_bias::map_of(c.call.attributes); }

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

std::vector<property> t5_bias_pair_laws() {
  const char *bias = "t5_bias/bias", *gradient = "t5_bias/bias:vjp";
  return {
      law(bias, "t5_shift", "all tokens later: the same bias", check_shift, 2),
      law(bias, "t5_constant", "a constant on the table is on every bias", check_constant, 2),
      law(bias, "t5_numbers", "the bias reads the buckets of t5_bias/bucket", check_numbers, 2),
      law(gradient, "t5_partition", "gradients add up to the cotangents", check_partition),
      law(gradient, "t5_unused_gradient", "the unused bucket has no gradient", check_unused_gradient),
  };
}

}  // namespace assay::properties
