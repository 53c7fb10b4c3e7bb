#include "properties/encodings/t5_bias/laws/laws.hpp"

#include <fmt/format.h>

#include "properties/encodings/t5_bias/laws/cases.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

outcome same_bias(const measured_call& before, const measured_call& after, const char* what) {
  if (before.outputs.at("bias").size() == 0) return {status::uninformative};
  if (core::identical(before.outputs.at("bias"), after.outputs.at("bias"))) return {};
  return violated(fmt::format("{}: the bias changed", what), before.outputs, after.outputs);
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
  return same_bias(*before, *after, "all tokens later");
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
  const std::vector<double> distances = distances_of(c);
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

// The first bucket of the keys after the query holds no distance, so its entry of the table is not read.
outcome check_unused_entry(implementation& under_test, const test_case& c) {
  if (!map_of(c).bidirectional) return {status::uninformative};
  test_case other = c;
  core::tensor& table = other.call.inputs.at("table");
  const std::size_t buckets = table.shape()[1];
  for (std::size_t i = buckets / 2; i < table.size(); i += buckets) table.values.storage()[i] = 4096.0;
  const auto before = measure(under_test, c);
  if (!before) return before.error();
  const auto after = measure(under_test, other);
  if (!after) return after.error();
  return same_bias(*before, *after, "another number in the unused bucket");
}

}  // namespace

std::vector<property> pair_laws() {
  const char* bias = "t5_bias/bias";
  std::vector<property> all{
      t5_law(bias, "t5_shift", "all tokens later: the same bias", check_shift, 2),
      t5_law(bias, "t5_constant", "a constant on the table is on every bias", check_constant, 2),
      t5_law(bias, "t5_numbers", "the bias reads the buckets of t5_bias/bucket", check_numbers, 2),
      t5_law(bias, "t5_unused_entry", "the entry of the unused bucket is not read", check_unused_entry, 2),
  };
  for (auto* others : {gradient_laws, alibi_laws})
    for (property& law : others()) all.push_back(std::move(law));
  return all;
}

}  // namespace assay::properties::encodings::t5_bias
