#include <algorithm>
#include <cmath>

#include "properties/encodings/sinusoidal/laws/laws.hpp"
#include "properties/encodings/sinusoidal/laws/table.hpp"
#include "properties/laws/relations/relations.hpp"
#include "reference/algorithms/sinusoidal_columns.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

// theta_0 = 1, theta_i theta_j = theta_{i+j}, and the end of the sequence: theta_{r-1} base = 1 by tensor2tensor,
// theta_{r-1} theta_1 base = 1 by the paper.
void check_sequence(experiment& e) {
  const numbers theta(e.call(), "theta");
  const bool paper = core::setting<std::string>(settings_of(e.c), "rule") == "paper";
  const std::size_t pairs = theta.shape[1];
  const given_numbers bases(e.c, "base");
  for (std::size_t k = 0; k < bases.size(); ++k) {
    const double base = bases[k].value;
    e.equal(theta(k, 0), exactly(1), "the first frequency of base {:.17g}", base);
    for (std::size_t i = 1; i < pairs; ++i)
      e.equal(theta(k, i), theta(k, i / 2) * theta(k, i - i / 2), "frequency {} of base {:.17g} and its factors", i,
              base);
    if (pairs < 2) continue;
    const approximate last = theta(k, pairs - 1);
    e.equal(paper ? last * theta(k, 1) : last, {1.0 / base, 0x1p-53 / base}, "the end of the sequence of base {:.17g}",
            base);
  }
}

// theta_i = b^-e_i has b dtheta_i/db = -e_i theta_i, so b grad_b = -sum of e_i theta_i grad_theta_i.
void check_base_gradient(experiment& e) {
  const numbers gradient(e.call(), "grad_base"), theta(e.forward(), "theta");
  const std::size_t pairs = theta.shape[1];
  const auto scale = reference::scale_of(core::setting<std::string>(settings_of(e.c), "rule"), 2 * pairs, pairs);
  const given_numbers bases(e.c, "base"), cotangents(e.c, "grad_theta");
  for (std::size_t k = 0; k < bases.size(); ++k) {
    approximate expected;
    double size = 0.0;
    for (std::size_t i = 0; i < pairs; ++i) {
      const double step = static_cast<double>(scale.stride * i) / static_cast<double>(scale.steps);
      const approximate term = approximate{-step, 0x1p-52 * step} * cotangents[k * pairs + i] * theta(k, i);
      expected += term;
      size += std::fabs(term.value);
    }
    e.equal(bases[k] * gradient[k], expected, size,
            "base {:.17g} times its gradient, and the exponents with frequencies and cotangents", bases[k].value);
  }
}

// p depends on the products m theta alone, so m dp/dm = theta dp/dtheta, summed over all.
void check_products(experiment& e) {
  const measured_call& call = e.call();
  double size = 0.0;
  const auto sum = [&](const std::string& input) {
    const given_numbers x(e.c, input);
    const numbers gradient(call, "grad_" + input);
    for (std::size_t i = 0; i < x.size(); ++i) size += std::fabs(x[i].value * gradient.x[i]);
    return inner_product(x, gradient, 0, x.size());
  };
  const approximate by_position = sum("position"), by_theta = sum("theta");
  e.equal(by_position, by_theta, size, "the sums of m grad_m and of theta grad_theta");
}

/// No more than this, in either direction: cosines have a mean of at most 1; and as Ci(x) = f(x) sin x - g(x) cos x
/// with f(x) + i g(x) = the integral of e^(-xt) / (1 - it) over t > 0 (DLMF 6.7.13, 6.7.14), |Ci(x)| <= |f + ig| <=
/// 1/x.
double decay_bound(double s, double base) { return std::min(1.0, (1.0 + base) / (std::fabs(s) * std::log(base))); }

// I(0) = 1, I(-s) = I(s), and it decays.
void check_decay(experiment& e) {
  const core::tensor& s = e.c.call.inputs.at("s");
  const std::size_t n = s.size();
  std::vector<double> both(s.values.begin(), s.values.end());
  for (const double x : s.values) both.push_back(0.0 - x);
  both.push_back(0.0);
  e.needs(n > 0);
  const numbers g(e.call(with_inputs(e.c, {{"s", core::make_tensor(s.type, {2 * n + 1}, both)}})), "g");
  const double base = core::setting<double>(settings_of(e.c), "base");
  for (std::size_t i = 0; i < n; ++i) {
    e.equal(g[i], g[n + i], "the decay at distance {:.17g} and at its negative", both[i]);
    const double bound = decay_bound(both[i], base);
    if (!(std::fabs(g.x[i]) <= bound * (1 + 0x1p-50) + g.allowed[i]))
      e.wrong(fmt::format("the decay at distance {:.17g} is {:.9g}, beyond {:.9g}", both[i], g.x[i], bound));
  }
  e.equal(exactly(1), exactly(g.x[2 * n]), "the decay at distance 0");
}

}  // namespace

const std::vector<std::string>& families_of_integers() {
  static const std::vector<std::string> names{"mild", "large_positions", "consecutive_far", "near_collisions",
                                              "negative_positions"};
  return names;
}
std::vector<std::string> families_of_positions() {
  std::vector<std::string> names = families_of_integers();
  names.insert(names.end(), {"fractions", "extreme_theta", "small_positions"});
  return names;
}

std::vector<property> function_laws() {
  return {
      law("sinusoidal_sequence", "frequencies are a geometric sequence from 1 to its end",
          {{"sinusoidal/frequencies"}, {"mild", "extreme_bases"}}, {1, check_sequence}),
      law("sinusoidal_base_gradient", "the gradient of a base is that of its frequencies' exponents",
          {{"sinusoidal/frequencies:vjp"}, {"mild", "extreme_bases"}}, {2, check_base_gradient}),
      law("sinusoidal_products", "positions and frequencies enter as products",
          {{"sinusoidal/table_at:vjp"}, {"mild", "fractions", "negative_positions", "small_positions"}},
          {1, check_products}),
      law("sinusoidal_decay", "decay is 1 at distance 0, even, and falls like 1/s in the end",
          {{"sinusoidal/decay"}, {"mild", "small_distances", "wide_distances"}}, {1, check_decay}),
  };
}

}  // namespace assay::properties::encodings::sinusoidal
