// Tables of cosines and sines whose columns stand in the order of another layout.
#include <algorithm>

#include "properties/faults/call_changes.hpp"
#include "properties/kinds/rotation.hpp"
#include "properties/kinds/rotation_faults.hpp"

namespace assay::properties {
namespace {

// The call with 1 as the first coordinate of each pair, and 0 for all others: its output gives cosines and sines.
request call_of_unit_vectors(const request& call, const rotary_case& shape) {
  request unit = call;
  unit.type = core::dtype::f64;
  for (const core::tensor_declaration& d : call.operation->inputs)
    if (!d.own_type) unit.inputs.at(d.name) = core::cast(unit.type, call.inputs.at(d.name));
  auto& x = unit.inputs.at("x").values.storage();
  std::fill(x.begin(), x.end(), 0.0);
  shape.for_pairs([&](std::size_t, std::size_t, std::size_t first, std::size_t) { x[first] = 1.0; });
  return unit;
}

}  // namespace

void take_columns_of_other_layout(core::tensors& outputs, request call, const char* layout) {
  const core::operation& op = *call.operation;
  if (op.input("x") == nullptr || op.output("y") == nullptr || op.attribute("layout") == nullptr) return;
  call.attributes["layout"] = std::string(layout);
  const rotary_case shape(call);
  const std::size_t pairs = shape.layout.pairs;
  const core::tensors turned =
      reference::evaluate(call_of_unit_vectors(call, shape), reference::accuracy_class::sequential);
  const auto &by = turned.at("y").values.storage(), &x = call.inputs.at("x").values.storage();
  core::tensor& y = outputs.at("y") = call.inputs.at("x");
  const auto turn = [&](std::size_t v, std::size_t column, std::size_t own, std::size_t partner, double sign) {
    // The columns have the order of the other layout: if pairs are halves, an even column and the next one belong to
    // one pair; otherwise a column and the column half a row behind it.
    const std::size_t pair = shape.layout.half_split ? column / 2 : column % pairs;
    const std::size_t vector = v * shape.layout.features;
    const double cosine = by[vector + shape.layout.first(pair)], sine = by[vector + shape.layout.second(pair)];
    y.values.storage()[own] = core::round_to(y.type, x[own] * cosine + sign * x[partner] * sine);
  };
  shape.for_pairs([&](std::size_t v, std::size_t t, std::size_t first, std::size_t second) {
    turn(v, shape.layout.half_split ? t : 2 * t, first, second, -1.0);
    turn(v, shape.layout.half_split ? t + pairs : 2 * t + 1, second, first, 1.0);
  });
}

}  // namespace assay::properties
