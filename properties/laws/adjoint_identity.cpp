// <cotangent, J tangent> = <J^T cotangent, tangent>: the two derivatives of one function agree, whatever
// either of them is compared with.
#include <fmt/format.h>

#include <cmath>

#include "properties/laws/laws.hpp"
#include "properties/laws/measured.hpp"
#include "reference/core/counter_random.hpp"

namespace assay::properties {
namespace {

struct pairing {
  double sum = 0, allowed = 0;
  /// Adds sum x * y, x being computed numbers with their allowed errors and y given ones.
  void add(const measured_call& call, const std::string& output, const core::tensor& given) {
    const auto& x = call.outputs.at(output).values.storage();
    const auto& errors = call.allowed.at(output);
    const auto& y = given.values.storage();
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (y[i] == 0.0) continue;
      sum += x[i] * y[i];
      // The last term covers this sum's own rounding.
      allowed += (errors[i] + 0x1p-44 * std::fabs(x[i])) * std::fabs(y[i]);
    }
  }
};

const core::operation& vjp_beside(const core::operation& op) {
  return *reference::find_operation(op.forward_name() + ":vjp");
}

// The vjp at the same point, with cotangents of its own.
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

outcome check_adjoint(implementation& under_test, const test_case& c) {
  if (!under_test.describe().offers(vjp_beside(*c.call.operation).name, c.call.type)) return {status::unsupported};
  const test_case pulled_case = with_cotangents(c);
  const auto pushed = measure(under_test, c);
  if (!pushed) return pushed.error();
  const auto pulled = measure(under_test, pulled_case);
  if (!pulled) return pulled.error();
  pairing forward, backward;
  for (const auto& [name, t] : pushed->outputs)
    forward.add(*pushed, name, pulled_case.call.inputs.at("grad_" + name.substr(name.find('_') + 1)));
  for (const auto& [name, t] : pulled->outputs)
    backward.add(*pulled, name, c.call.inputs.at("tangent_" + name.substr(name.find('_') + 1)));
  const double allowed = forward.allowed + backward.allowed;
  if (!std::isfinite(allowed)) return {status::uninformative};
  if (std::fabs(forward.sum - backward.sum) <= allowed)
    return {forward.sum == 0.0 && backward.sum == 0.0 ? status::uninformative : status::passed};
  return violated(fmt::format("<cotangent, J tangent> = {:.9g}, <J^T cotangent, tangent> = {:.9g}, allowed difference "
                              "{:.3g}",
                              forward.sum, backward.sum, allowed),
                  pushed->outputs, pulled->outputs);
}

}  // namespace

property adjoint_property() {
  return {"adjoint",
          "the two derivatives agree: <cotangent, J tangent> = <J^T cotangent, tangent>",
          [](const core::operation& op) { return op.kind() == core::derivative::jvp; },
          check_adjoint,
          false,
          2};
}

}  // namespace assay::properties
