// <cotangent, J tangent> = <J^T cotangent, tangent>: the two derivatives of one function must agree, whatever each of
// them is compared with.
#include <cmath>

#include "properties/laws/laws.hpp"
#include "properties/laws/relations/relations.hpp"
#include "reference/core/counter_random.hpp"

namespace assay::properties {
namespace {

// Adds the sum of x y over an output x and a given tensor y; an exact 0 in y silences any x.
void add_products(cancelling_sum& sum, const measured_call& call, const std::string& output, const core::tensor& y) {
  for (std::size_t i = 0; i < y.size(); ++i)
    if (const double factor = y.values.storage()[i]; factor != 0.0)
      sum.add(exactly(factor) * summand(element(call, output, i)));
}

const core::operation& vjp_beside(const core::operation& op) {
  return *reference::find_operation(op.forward_name() + ":vjp");
}

// The vjp at the same point, with its own cotangents.
test_case with_cotangents(const test_case& c) {
  const core::operation &forward = reference::forward_of(*c.call.operation), &vjp = vjp_beside(*c.call.operation);
  test_case other{{&vjp, c.call.type, {}, c.call.attributes}, c.family, c.seed};
  core::counter_random random(c.seed + 1);
  const core::axis_sizes sizes = sizes_of(c);
  for (const auto& d : forward.inputs) other.call.inputs.emplace(d.name, c.call.inputs.at(d.name));
  for (const auto& d : forward.outputs) {
    core::tensor t = core::zeros(c.call.type, core::shape_of(d, sizes));
    for (double& x : t.values.storage()) x = core::round_to(c.call.type, random.normal());
    other.call.inputs.emplace("grad_" + d.name, std::move(t));
  }
  return other;
}

void check_adjoint(experiment& e) {
  e.needs_operation(vjp_beside(*e.c.call.operation).name);
  const test_case pulled_case = with_cotangents(e.c);
  const measured_call &pushed = e.call(), &pulled = e.call(pulled_case);
  cancelling_sum forward, backward;
  for (const auto& [name, t] : pushed.outputs)
    add_products(forward, pushed, name, pulled_case.call.inputs.at("grad_" + name.substr(name.find('_') + 1)));
  for (const auto& [name, t] : pulled.outputs)
    add_products(backward, pulled, name, e.c.call.inputs.at("tangent_" + name.substr(name.find('_') + 1)));
  e.needs(std::isfinite(forward.value.error + backward.value.error));
  e.equal(forward.value, backward.value, std::max(forward.size, backward.size),
          "<cotangent, J tangent> and <J^T cotangent, tangent>");
  e.needs(forward.size + backward.size > 0.0);
}

}  // namespace

property adjoint_property() {
  return law("adjoint", "the two derivatives agree: <cotangent, J tangent> = <J^T cotangent, tangent>",
             {.with = [](const core::operation& op) { return op.kind() == core::derivative::jvp; }},
             {2, check_adjoint});
}

}  // namespace assay::properties
