// Rows, and features where they are independent, in another order: outputs in that order.
#include "properties/laws/laws.hpp"
#include "properties/laws/relations/relations.hpp"

namespace assay::properties {
namespace {

std::vector<std::size_t> shuffled(std::size_t size, core::counter_random& random) {
  std::vector<std::size_t> order = every(size);
  for (std::size_t i = size; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

void check_permutation(experiment& e) {
  const core::operation& op = *e.c.call.operation;
  const measured_call& before = e.call();
  core::counter_random random(e.c.seed);
  for (const std::string& axis : op.independent) {
    const std::size_t size = sizes_of(e.c).at(axis);
    if (size < 2) continue;
    const std::vector<std::size_t> order = shuffled(size, random);
    const measured_call& after = e.call(with_inputs(e.c, core::restrict_axis(op, e.c.call.inputs, axis, order)));
    e.equal_along(axis, before, order, after, every(size), experiment::without_axis::left_out,
                  "axis " + axis + " permuted");
  }
}

}  // namespace

property permutation_property() {
  return law("permutation", "rows and features in another order", {.with = has_lanes}, {3, check_permutation});
}

}  // namespace assay::properties
