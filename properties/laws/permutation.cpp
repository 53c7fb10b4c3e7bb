// Rows, and features where they are independent, in another order: outputs in that order.
#include <algorithm>

#include "properties/laws/compared_calls.hpp"
#include "properties/laws/laws.hpp"

namespace assay::properties {
namespace {

std::vector<std::size_t> shuffled(std::size_t size, core::counter_random& random) {
  std::vector<std::size_t> order = every(size);
  for (std::size_t i = size; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

outcome check_permutation(implementation& under_test, const test_case& c) {
  const core::operation& op = *c.call.operation;
  const auto before = measure(under_test, c);
  if (!before) return before.error();
  core::counter_random random(c.seed);
  outcome all{status::uninformative};
  for (const std::string& axis : op.independent) {
    const std::size_t size = sizes_of(c).at(axis);
    if (size < 2) continue;
    const std::vector<std::size_t> order = shuffled(size, random);
    const auto after = measure(under_test, with_inputs(c, core::restrict_axis(op, c.call.inputs, axis, order)));
    if (!after) return after.error();
    for (const auto& d : op.outputs) {
      const auto at = core::axis_of(d, axis);
      if (!at) continue;
      const core::shape shape = before->outputs.at(d.name).shape();
      const auto wrong =
          compare_elements(d.name, *before, taken(shape, *at, order), *after, every(core::element_count(shape)));
      if (wrong) return violated("axis " + axis + " permuted: " + *wrong, before->outputs, after->outputs);
    }
    all = {};
  }
  return all;
}

}  // namespace

property permutation_property() {
  return {"permutation", "rows and features in another order", has_lanes, check_permutation, false, 3};
}

}  // namespace assay::properties
