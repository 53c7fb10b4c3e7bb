// Laws of the gradients of rotations and frequencies.
#include <cmath>

#include "properties/encodings/rope/laws/laws.hpp"
#include "properties/encodings/rope/laws/rotary_case.hpp"

namespace assay::properties::encodings::rope {
namespace {

// R_m undoes the gradient: R_m R_-m g = g.
void check_gradient_undone(experiment& e) {
  test_case back_again = e.c;
  const measured_call& back = e.call();
  back_again.call.inputs.at("x") = back.outputs.at("grad_x");
  const numbers gradient(back, "grad_x"), undone(e.forward(back_again), "y");
  const given_numbers g(e.c, "grad_y");
  for_pairs(rotary_case(e.c), [&](std::size_t, std::size_t, std::size_t first, std::size_t second) {
    const approximate inherited{0.0, gradient.allowed[first] + gradient.allowed[second]};
    for (const std::size_t i : {first, second})
      e.equal(g[i], undone[i] + inherited, "cotangent {}, and its gradient rotated forwards", i);
  });
}

// The sum of |m theta| |x| |g| over all pairs: of such terms, as much as they may cancel, both sums are made.
double size_of_torques(const test_case& c) {
  const rotary_case shape(c);
  const auto values = [&](const char* name) -> const auto& { return c.call.inputs.at(name).values.storage(); };
  const auto &x = values("x"), &g = values("grad_y"), &m = values("position"), &theta = values("theta");
  double size = 0;
  for_pairs(shape, [&](std::size_t v, std::size_t t, std::size_t first, std::size_t second) {
    const approximate of_x = length_of(exactly(x[first]), exactly(x[second]));
    const approximate of_g = length_of(exactly(g[first]), exactly(g[second]));
    size += std::fabs(m[v / shape.heads()] * theta[t]) * of_x.value * of_g.value;
  });
  return size;
}

// Positions and frequencies enter as products alone: sum of theta theta-bar = sum of m m-bar.
void check_angle_gradients(experiment& e) {
  const measured_call& call = e.call();
  const auto paired = [&](const std::string& input) {
    const given_numbers x(e.c, input);
    return inner_product(x, numbers(call, "grad_" + input), 0, x.size());
  };
  e.equal(paired("theta"), paired("position"), size_of_torques(e.c),
          "theta times its gradient, and position times its gradient");
}

// The gradients of angles from the rotated vectors: tau = g_second y_first - g_first y_second of every pair, m-bar =
// sum of theta tau for each token, theta-bar = sum of m tau for each frequency.
void check_torque(experiment& e) {
  const numbers y(e.forward(), "y");
  const measured_call& back = e.call();
  const numbers grad_theta(back, "grad_theta"), grad_position(back, "grad_position");
  const rotary_case shape(e.c);
  const given_numbers g(e.c, "grad_y"), m(e.c, "position"), theta(e.c, "theta");
  std::vector<approximate> of_theta(shape.pairs()), of_position(shape.rows() * shape.tokens());
  for_pairs(shape, [&](std::size_t v, std::size_t t, std::size_t first, std::size_t second) {
    const approximate torque = g[second] * y[first] - g[first] * y[second];
    const std::size_t token = v / shape.heads();
    of_theta[t] += m[token] * torque;
    of_position[token] += theta[t] * torque;
  });
  for (std::size_t t = 0; t < of_theta.size(); ++t)
    e.equal(of_theta[t], grad_theta[t], "the torque of frequency {} and its gradient", t);
  for (std::size_t i = 0; i < of_position.size(); ++i)
    e.equal(of_position[i], grad_position[i], "the torque of token {} and its gradient", i);
}

// Every frequency is a power -t/r of the base times what does not depend on it: base base-bar = sum of -t/r theta_t
// theta_t-bar, whatever the scaling.
void check_base_gradient(experiment& e) {
  const numbers theta(e.forward(), "theta"), gradient(e.call(), "grad_base");
  const given_numbers base(e.c, "base"), g(e.c, "grad_theta");
  const std::size_t pairs = theta.shape[1];
  for (std::size_t k = 0; k < base.size(); ++k) {
    approximate sum;
    for (std::size_t t = 0; t < pairs; ++t) {
      const double exponent = -static_cast<double>(t) / static_cast<double>(pairs);
      sum += approximate{exponent, 0x1p-53} * theta(k, t) * g[k * pairs + t];
    }
    e.equal(sum, base[k] * gradient[k], "base {:.17g} times its gradient, by the frequencies and by the gradient",
            base[k].value);
  }
}

}  // namespace

std::vector<property> gradient_laws() {
  const std::vector<std::string> positions{"mild", "left_padding", "decode", "real_positions"};
  return {
      law("rotation_gradient_undone", "the gradient is the rotation backwards",
          {{"rope/rotate:vjp", "rope/rotate_by:vjp"}, positions}, {2, check_gradient_undone}),
      law("rotation_angle_gradients", "gradients of positions and frequencies agree",
          {{"rope/rotate_by:vjp"}, {"mild", "left_padding", "decode", "real_positions", "wide"}},
          {1, check_angle_gradients}),
      law("rotation_torque", "gradients of angles are the torques of the rotated vectors",
          {{"rope/rotate_by:vjp"}, positions}, {2, check_torque}),
      law("frequency_base_gradient", "the gradient of the base is that of powers of it",
          {{"rope/frequencies:vjp"}, {"mild", "bases_near_one", "wide_bases"}}, {2, check_base_gradient}),
  };
}

}  // namespace assay::properties::encodings::rope
