#include "properties/encodings/t5_bias/laws/laws.hpp"

#include "properties/encodings/t5_bias/laws/cases.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

double later(const test_case& c, double p) { return p + static_cast<double>(1 + c.seed % 1000); }

// Tables that every format holds exactly.
double whole(std::size_t head, std::size_t bucket) { return static_cast<double>((37 * head + 11 * bucket) % 64); }
double raised(std::size_t head, std::size_t bucket) { return 64.0 + whole(head, bucket); }

void check_constant(experiment& e) {
  const numbers before(e.call(with_table(e.c, whole)), "bias"), after(e.call(with_table(e.c, raised)), "bias");
  for (std::size_t i = 0; i < before.size(); ++i)
    e.equal(exactly(before.x[i] + 64.0), exactly(after.x[i]), "64 added to the table, bias {}", i);
}

// A table of the bucket numbers gives the buckets of the operation that is named so.
void check_numbers(experiment& e) {
  const std::vector<double> distances = distances_of(e.c);
  const numbers wanted(
      e.call(reference::find_operation("t5_bias/bucket"),
             {{"distance", core::make_tensor(core::dtype::i64, {distances.size()}, distances)}}, e.c.call.attributes),
      "bucket");
  const numbers bias(e.call(with_table(e.c, [](std::size_t, std::size_t b) { return static_cast<double>(b); })),
                     "bias");
  for (std::size_t i = 0; i < bias.size(); ++i)
    e.equal(exactly(wanted.x[i % wanted.size()]), exactly(bias.x[i]),
            "distance {}: the bucket of the operation, and the one that the bias reads", distances[i % wanted.size()]);
}

// The first bucket of the keys after the query holds no distance, so its entry of the table is not read.
std::optional<test_case> with_another_unused_entry(const test_case& c) {
  if (!map_of(c).bidirectional) return std::nullopt;
  test_case other = c;
  core::tensor& table = other.call.inputs.at("table");
  const std::size_t buckets = table.shape()[1];
  for (std::size_t i = buckets / 2; i < table.size(); i += buckets) table.values.storage()[i] = 4096.0;
  return other;
}

}  // namespace

std::vector<property> pair_laws() {
  const law_scope bias{{"t5_bias/bias"}};
  std::vector<property> all{
      law("t5_shift", "all tokens later: the same bias", bias,
          identical_after(each_of({"query_position", "key_position"}, later), "bias", "all tokens later")),
      law("t5_constant", "a constant on the table is on every bias", bias, {2, check_constant}),
      law("t5_numbers", "the bias reads the buckets of t5_bias/bucket", bias, {2, check_numbers}),
      law("t5_unused_entry", "the entry of the unused bucket is not read", bias,
          identical_after(with_another_unused_entry, "bias", "another number in the unused bucket")),
  };
  for (auto* others : {gradient_laws, alibi_laws})
    for (property& p : others()) all.push_back(std::move(p));
  return all;
}

}  // namespace assay::properties::encodings::t5_bias
