// Rows, and features where they are independent, in another order: outputs in that order.
#include <algorithm>
#include <numeric>

#include "properties/laws/laws.hpp"
#include "properties/laws/measured.hpp"

namespace assay::properties {
namespace {

std::vector<std::size_t> shuffled(std::size_t size, core::counter_random& random) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = size; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

// The flat indices of a tensor of this shape with one axis in another order.
std::vector<std::size_t> reordered(const core::shape& shape, std::size_t axis, const std::vector<std::size_t>& order) {
  const std::size_t inner = core::stride_of(shape, axis), size = shape[axis];
  std::vector<std::size_t> from(core::element_count(shape));
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t at = (i / inner) % size;
    from[i] = i - at * inner + order[at] * inner;
  }
  return from;
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
      std::vector<std::size_t> every(core::element_count(shape));
      std::iota(every.begin(), every.end(), 0);
      const auto wrong = compare_elements(d.name, *before, reordered(shape, *at, order), *after, every);
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
