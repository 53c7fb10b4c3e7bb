// Shapes with an empty axis are a property of their own: a program that refuses them is right everywhere else.
#include <fmt/format.h>

#include "properties/laws/relations/relations.hpp"

namespace assay::properties {
namespace {

void check_empty_axes(experiment& e) {
  const core::operation& op = *e.c.call.operation;
  for (const std::string& symbol : core::free_axes(op)) {
    const test_case empty = with_inputs(e.c, core::restrict_axis(op, e.c.call.inputs, symbol, {}));
    if (!core::check_request(empty.call) || !within_domain(e.about(), empty)) continue;
    e.during(fmt::format("{} = 0", symbol), [&] { e.right_call(empty); });
    e.count(true);  // the shapes of the outputs were
  }
}

}  // namespace

property empty_axes_property() {
  property p =
      law("empty_axes", "an axis of size 0 is allowed: outputs are empty, and states stay as they were",
          {.families = {"mild"}, .with = [](const core::operation& op) { return !core::free_axes(op).empty(); }},
          {8, check_empty_axes});
  p.stays_because = "programs refuse such shapes, or give outputs of wrong shapes: no mutant's outputs have those";
  return p;
}

}  // namespace assay::properties
