// Laws of the gradients of rotations and frequencies.
#include <cmath>

#include "properties/encodings/rope/laws/laws.hpp"
#include "properties/encodings/rope/laws/rotary_case.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::rope {
namespace {

/// The forward call of a gradient's case, where the implementation offers it.
std::optional<test_case> forward_case(const implementation& under_test, const test_case& c) {
  const core::operation& forward = reference::forward_of(*c.call.operation);
  if (!under_test.describe().offers(forward.name, c.call.type)) return std::nullopt;
  test_case point = c;
  point.call.operation = &forward;
  std::erase_if(point.call.inputs, [&](const auto& input) { return forward.input(input.first) == nullptr; });
  return point;
}

// R_m undoes the gradient: R_m R_-m g = g.
outcome check_gradient_undone(implementation& under_test, const test_case& c) {
  auto forwards = forward_case(under_test, c);
  if (!forwards) return {status::unsupported};
  const auto back = measure(under_test, c);
  if (!back) return back.error();
  forwards->call.inputs.at("x") = back->outputs.at("grad_x");
  const auto again = measure(under_test, *forwards);
  if (!again) return again.error();
  const rotary_case shape(c);
  const auto& g = c.call.inputs.at("grad_y").values.storage();
  const numbers gradient(*back, "grad_x"), undone(*again, "y");
  comparisons all;
  for (std::size_t v = 0; v < shape.vectors(); ++v)
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [first, second] = shape.pair(v, t);
      const double inherited = gradient.allowed[first] + gradient.allowed[second];
      for (const std::size_t i : {first, second})
        if (!all.agree(undone.x[i], g[i], undone.allowed[i] + inherited))
          return violated(
              fmt::format("the gradient of cotangent {:.9g}, rotated forwards, is {:.9g}", g[i], undone.x[i]),
              {{"y", c.call.inputs.at("grad_y")}}, again->outputs);
    }
  return all.result();
}

// The sum of an input and its gradient, element by element.
approximate paired(const test_case& c, const measured_call& call, const std::string& input) {
  const auto& x = c.call.inputs.at(input).values.storage();
  const numbers gradient(call, ("grad_" + input).c_str());
  approximate sum;
  for (std::size_t i = 0; i < x.size(); ++i) sum = sum + approximate{x[i], 0.0} * at(gradient, i);
  return sum;
}

// The sum of |m theta| |x| |g| over all pairs: of such terms, as much as they may cancel, both sums are made.
double size_of_torques(const test_case& c) {
  const rotary_case shape(c);
  const auto values = [&](const char* name) -> const auto& { return c.call.inputs.at(name).values.storage(); };
  const auto &x = values("x"), &g = values("grad_y"), &m = values("position"), &theta = values("theta");
  double size = 0;
  for (std::size_t v = 0; v < shape.vectors(); ++v)
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [first, second] = shape.pair(v, t);
      size += std::fabs(m[v / shape.heads()] * theta[t]) * std::hypot(x[first], x[second]) *
              std::hypot(g[first], g[second]);
    }
  return size;
}

// Positions and frequencies enter as products alone: sum of theta theta-bar = sum of m m-bar.
outcome check_angle_gradients(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const approximate of_theta = paired(c, *call, "theta"), of_position = paired(c, *call, "position");
  comparisons all;
  if (!agree(all, of_theta, of_position, size_of_torques(c)))
    return violated(differing("theta times its gradient, and position times its gradient", of_theta, of_position), {},
                    call->outputs);
  return all.result();
}

// The gradients of angles from the rotated vectors: tau = g_second y_first - g_first y_second of every pair, m-bar =
// sum of theta tau for each token, theta-bar = sum of m tau for each frequency.
outcome check_torque(implementation& under_test, const test_case& c) {
  const auto point = forward_case(under_test, c);
  if (!point) return {status::unsupported};
  const auto forwards = measure(under_test, *point), back = measure(under_test, c);
  if (!forwards) return forwards.error();
  if (!back) return back.error();
  const rotary_case shape(c);
  const numbers y(*forwards, "y"), grad_theta(*back, "grad_theta"), grad_position(*back, "grad_position");
  const auto input = [&](const char* name, std::size_t i) {
    return approximate{c.call.inputs.at(name).values.storage()[i], 0.0};
  };
  std::vector<approximate> of_theta(shape.pairs()), of_position(shape.rows() * shape.tokens());
  for (std::size_t v = 0; v < shape.vectors(); ++v)
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [first, second] = shape.pair(v, t);
      const approximate torque = input("grad_y", second) * at(y, first) - input("grad_y", first) * at(y, second);
      const std::size_t token = v / shape.heads();
      of_theta[t] = of_theta[t] + input("position", token) * torque;
      of_position[token] = of_position[token] + input("theta", t) * torque;
    }
  comparisons all;
  for (std::size_t t = 0; t < of_theta.size(); ++t)
    if (!agree(all, of_theta[t], at(grad_theta, t)))
      return violated(
          differing(fmt::format("the torque of frequency {} and its gradient", t), of_theta[t], at(grad_theta, t)), {},
          back->outputs);
  for (std::size_t i = 0; i < of_position.size(); ++i)
    if (!agree(all, of_position[i], at(grad_position, i)))
      return violated(
          differing(fmt::format("the torque of token {} and its gradient", i), of_position[i], at(grad_position, i)),
          {}, back->outputs);
  return all.result();
}

// Every frequency is a power -t/r of the base times what does not depend on it: base base-bar = sum of -t/r theta_t
// theta_t-bar, whatever the scaling.
outcome check_base_gradient(implementation& under_test, const test_case& c) {
  const auto point = forward_case(under_test, c);
  if (!point) return {status::unsupported};
  const auto forwards = measure(under_test, *point), back = measure(under_test, c);
  if (!forwards) return forwards.error();
  if (!back) return back.error();
  const numbers theta(*forwards, "theta"), gradient(*back, "grad_base");
  const auto& base = c.call.inputs.at("base").values.storage();
  const auto& g = c.call.inputs.at("grad_theta").values.storage();
  const std::size_t pairs = sizes_of(c).at("r");
  comparisons all;
  for (std::size_t k = 0; k < base.size(); ++k) {
    approximate sum;
    for (std::size_t t = 0; t < pairs; ++t) {
      const double exponent = -static_cast<double>(t) / static_cast<double>(pairs);
      sum = sum + approximate{exponent, 0x1p-53} * at(theta, k * pairs + t) * approximate{g[k * pairs + t], 0.0};
    }
    const approximate slope = approximate{base[k], 0.0} * at(gradient, k);
    if (!agree(all, sum, slope))
      return violated(
          differing(fmt::format("base {:.17g} times its gradient, by the frequencies and by the gradient", base[k]),
                    sum, slope),
          {}, back->outputs);
  }
  return all.result();
}

}  // namespace

std::vector<property> gradient_laws() {
  const std::vector<std::string> positions{"mild", "left_padding", "decode", "real_positions"};
  return {
      law_of("rotation_gradient_undone", "the gradient is the rotation backwards",
             {"rope/rotate:vjp", "rope/rotate_by:vjp"}, check_gradient_undone, 2, positions),
      law_of("rotation_angle_gradients", "gradients of positions and frequencies agree", {"rope/rotate_by:vjp"},
             check_angle_gradients, 1, {"mild", "left_padding", "decode", "real_positions", "wide"}),
      law_of("rotation_torque", "gradients of angles are the torques of the rotated vectors", {"rope/rotate_by:vjp"},
             check_torque, 2, positions),
      law_of("frequency_base_gradient", "the gradient of the base is that of powers of it", {"rope/frequencies:vjp"},
             check_base_gradient, 2, {"mild", "bases_near_one", "wide_bases"}),
  };
}

}  // namespace assay::properties::encodings::rope
