// Laws of the scalings of rotary position embedding, and of its gradients.
#include <fmt/format.h>

#include <cmath>

#include "properties/laws/rope.hpp"
#include "properties/laws/rotary_case.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

test_case with_setting(const test_case& c, const char* name, core::attribute value) {
  test_case other = c;
  other.call.attributes[name] = std::move(value);
  return other;
}

// The same outputs from two calls, element by element, each in units of its own.
outcome compare_calls(implementation& under_test, const test_case& a, const test_case& b, const char* output,
                      double factor_of_b, const std::string& what) {
  for (const test_case* c : {&a, &b})
    if (!within_domain(under_test.describe(), *c)) return {status::outside_domain};
  const auto first = measure(under_test, a), second = measure(under_test, b);
  if (!first) return first.error();
  if (!second) return second.error();
  const auto &x = first->outputs.at(output).values.storage(), &y = second->outputs.at(output).values.storage();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double allowed = first->allowed.at(output)[i] + factor_of_b * second->allowed.at(output)[i];
    if (!agree(x[i], factor_of_b * y[i], allowed))
      return violated(fmt::format("{}: {} element {} is {:.9g} and {:.9g}, allowed difference {:.3g}", what, output, i,
                                  x[i], factor_of_b * y[i], allowed),
                      first->outputs, second->outputs);
  }
  return {};
}

// Positions 4m divided by 4 are positions m (Chen et al. 2023).
outcome check_interpolated_positions(implementation& under_test, const test_case& c) {
  const auto spread = with_positions(c, [](double m) { return 4.0 * m; });
  if (!spread) return {status::uninformative};
  return compare_calls(under_test, with_setting(c, "position_scale", 1.0), with_setting(*spread, "position_scale", 4.0),
                       "y", 1.0, "positions 4m, divided by 4");
}

// Interpolation by 2 halves every frequency.
outcome check_interpolated_frequencies(implementation& under_test, const test_case& c) {
  const test_case plain = with_setting(c, "scaling", std::string("none"));
  const test_case halved = with_setting(with_setting(c, "scaling", std::string("interpolation")), "factor", 2.0);
  return compare_calls(under_test, plain, halved, "theta", 2.0, "interpolated by 2");
}

// Without scaling the frequencies are those of any scaling by 1: what is below the trained length is not changed.
outcome check_factor_one(implementation& under_test, const test_case& c) {
  const test_case plain = with_setting(with_setting(c, "scaling", std::string("none")), "factor", 4.0);
  for (const char* scaling : {"ntk", "interpolation"}) {
    const test_case by_one = with_setting(with_setting(c, "scaling", std::string(scaling)), "factor", 1.0);
    outcome o = compare_calls(under_test, plain, by_one, "theta", 1.0, std::string(scaling) + " by 1");
    if (o.verdict != status::passed) return o;
  }
  return {};
}

// "ntk" leaves the fastest frequency alone and divides the slowest by the factor.
outcome check_ntk_ends(implementation& under_test, const test_case& c) {
  const auto pairs = sizes_of(c).at("r");
  if (pairs < 2) return {status::uninformative};
  const test_case plain = with_setting(c, "scaling", std::string("none"));
  const test_case stretched = with_setting(with_setting(c, "scaling", std::string("ntk")), "factor", 4.0);
  for (const test_case* call : {&plain, &stretched})
    if (!within_domain(under_test.describe(), *call)) return {status::outside_domain};
  const auto before = measure(under_test, plain), after = measure(under_test, stretched);
  if (!before) return before.error();
  if (!after) return after.error();
  const auto &x = before->outputs.at("theta").values.storage(), &y = after->outputs.at("theta").values.storage();
  for (std::size_t k = 0; k < x.size(); k += pairs) {
    const std::size_t last = k + pairs - 1;
    if (!agree(y[k], 1.0, after->allowed.at("theta")[k]))
      return violated(fmt::format("the fastest frequency is {:.9g} instead of 1", y[k]), {}, after->outputs);
    if (!agree(4.0 * y[last], x[last], before->allowed.at("theta")[last] + 4.0 * after->allowed.at("theta")[last]))
      return violated(fmt::format("the slowest frequency is {:.9g} and a quarter of it {:.9g}", x[last], y[last]),
                      before->outputs, after->outputs);
  }
  return {};
}

// R_m undoes the gradient: R_m R_-m g = g.
outcome check_gradient_undone(implementation& under_test, const test_case& c) {
  const core::operation& forward = reference::forward_of(*c.call.operation);
  if (!under_test.describe().offers(forward.name, c.call.type)) return {status::unsupported};
  const auto back = measure(under_test, c);
  if (!back) return back.error();
  test_case forwards = c;
  forwards.call.operation = &forward;
  forwards.call.inputs.at("x") = back->outputs.at("grad_x");
  forwards.call.inputs.erase("grad_y");
  const auto again = measure(under_test, forwards);
  if (!again) return again.error();
  const rotary_case shape(c);
  const auto& g = c.call.inputs.at("grad_y").values.storage();
  const auto& undone = again->outputs.at("y").values.storage();
  for (std::size_t v = 0; v < shape.vectors(); ++v)
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [first, second] = shape.pair(v, t);
      const double inherited = back->allowed.at("grad_x")[first] + back->allowed.at("grad_x")[second];
      for (const std::size_t i : {first, second})
        if (!agree(undone[i], g[i], again->allowed.at("y")[i] + inherited))
          return violated(fmt::format("the gradient of cotangent {:.9g}, rotated forwards, is {:.9g}", g[i], undone[i]),
                          {{"y", c.call.inputs.at("grad_y")}}, again->outputs);
    }
  return {};
}

struct pairing {
  double sum = 0, allowed = 0;
};
pairing paired(const core::tensor& x, const measured_call& call, const std::string& output) {
  pairing p;
  const auto& gradient = call.outputs.at(output).values.storage();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double term = x.values.storage()[i] * gradient[i];
    p.sum += term;
    p.allowed += std::fabs(x.values.storage()[i]) * call.allowed.at(output)[i] + 0x1p-48 * std::fabs(term);
  }
  return p;
}

// Positions and frequencies enter as products alone: sum of theta theta-bar = sum of m m-bar.
outcome check_angle_gradients(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const pairing of_theta = paired(c.call.inputs.at("theta"), *call, "grad_theta");
  const pairing of_position = paired(c.call.inputs.at("position"), *call, "grad_position");
  if (!agree(of_theta.sum, of_position.sum, of_theta.allowed + of_position.allowed))
    return violated(fmt::format("theta times its gradient is {:.9g}, position times its gradient {:.9g}", of_theta.sum,
                                of_position.sum),
                    {}, call->outputs);
  return {};
}

property law(const char* name, const char* summary, const char* operation,
             outcome (*check)(implementation&, const test_case&), std::size_t calls,
             std::vector<std::string> families) {
  property p{name, summary, [wanted = std::string(operation)](const core::operation& op) { return op.name == wanted; },
             check};
  p.calls = calls;
  p.families = std::move(families);
  return p;
}

}  // namespace

std::vector<property> rope_setting_laws() {
  const std::vector<std::string> positions{"mild", "left_padding", "decode"};
  const std::vector<std::string> bases{"mild", "bases_near_one", "wide_bases"};
  std::vector<property> all{
      law("rotation_interpolation", "positions 4m divided by 4 are positions m", "rope/rotate",
          check_interpolated_positions, 2, positions),
      law("frequency_interpolation", "interpolation by 2 halves the frequencies", "rope/frequencies",
          check_interpolated_frequencies, 2, bases),
      law("frequency_factor_one", "no scaling is any scaling by 1", "rope/frequencies", check_factor_one, 3, bases),
      law("frequency_ntk_ends", "NTK scaling keeps the fastest frequency and divides the slowest", "rope/frequencies",
          check_ntk_ends, 2, bases),
      law("rotation_gradient_undone", "the gradient is the rotation backwards", "rope/rotate:vjp",
          check_gradient_undone, 2, positions),
      law("rotation_angle_gradients", "gradients of positions and frequencies agree", "rope/rotate_by:vjp",
          check_angle_gradients, 1, {"mild", "left_padding", "decode", "real_positions"}),
  };
  return all;
}

}  // namespace assay::properties
