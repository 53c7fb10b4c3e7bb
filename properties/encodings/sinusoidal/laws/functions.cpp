#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/encodings/sinusoidal/laws/laws.hpp"
#include "properties/laws/approximate.hpp"
#include "properties/laws/laws.hpp"
#include "reference/algorithms/sinusoidal_columns.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

// theta_0 = 1, theta_i theta_j = theta_{i+j}, and the end of the sequence: theta_{r-1} base = 1 by tensor2tensor,
// theta_{r-1} theta_1 base = 1 by the paper.
outcome check_sequence(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const core::attributes settings = core::completed(*c.call.operation, c.call.attributes);
  const bool paper = core::setting<std::string>(settings, "rule") == "paper";
  const auto pairs = static_cast<std::size_t>(core::setting<std::int64_t>(settings, "pairs"));
  const auto& bases = c.call.inputs.at("base").values.storage();
  const approximate one{1.0, 0.0};
  comparisons all;
  const auto theta = [&](std::size_t k, std::size_t i) -> approximate {
    return {call->outputs.at("theta").values.storage()[k * pairs + i], call->allowed.at("theta")[k * pairs + i]};
  };
  for (std::size_t k = 0; k < bases.size(); ++k) {
    const auto wrong = [&](const char* what, approximate x, approximate y) {
      return violated(fmt::format("{} of base {:.17g}: {:.9g} and {:.9g}, allowed difference {:.3g}", what, bases[k],
                                  x.value, y.value, x.error + y.error),
                      {}, call->outputs);
    };
    if (!agree(all, theta(k, 0), one)) return wrong("the first frequency", theta(k, 0), one);
    for (std::size_t i = 1; i < pairs; ++i) {
      const approximate product = theta(k, i / 2) * theta(k, i - i / 2);
      if (!agree(all, theta(k, i), product)) return wrong("a frequency and its factors", theta(k, i), product);
    }
    if (pairs < 2) continue;
    const approximate last = theta(k, pairs - 1), slowest = paper ? last * theta(k, 1) : last;
    const approximate inverse{1.0 / bases[k], 0x1p-53 / bases[k]};
    if (!agree(all, slowest, inverse)) return wrong("the end of the sequence", slowest, inverse);
  }
  return all.result();
}

// theta_i = b^-e_i has b dtheta_i/db = -e_i theta_i, so b grad_b = -sum of e_i theta_i grad_theta_i.
outcome check_base_gradient(implementation& under_test, const test_case& c) {
  test_case forward = with_inputs(c, {{"base", c.call.inputs.at("base")}});
  forward.call.operation = &reference::forward_of(*c.call.operation);
  const auto gradient = measure(under_test, c);
  if (!gradient) return gradient.error();
  const auto frequencies = measure(under_test, forward);
  if (!frequencies) return frequencies.error();
  const core::attributes settings = core::completed(*c.call.operation, c.call.attributes);
  const auto pairs = static_cast<std::size_t>(core::setting<std::int64_t>(settings, "pairs"));
  const auto scale = reference::scale_of(core::setting<std::string>(settings, "rule"), 2 * pairs, pairs);
  const auto& bases = c.call.inputs.at("base").values.storage();
  comparisons all;
  for (std::size_t k = 0; k < bases.size(); ++k) {
    approximate expected;
    double size = 0.0;
    for (std::size_t i = k * pairs; i < (k + 1) * pairs; ++i) {
      const double step = static_cast<double>(scale.stride * (i - k * pairs)) / static_cast<double>(scale.steps);
      const double cotangent = c.call.inputs.at("grad_theta").values.storage()[i];
      const approximate theta{frequencies->outputs.at("theta").values.storage()[i],
                              frequencies->allowed.at("theta")[i]};
      const approximate term = approximate{-step, 0x1p-52 * step} * approximate{cotangent, 0.0} * theta;
      expected = expected + term;
      size += std::fabs(term.value);
    }
    const approximate found =
        approximate{bases[k], 0.0} *
        approximate{gradient->outputs.at("grad_base").values.storage()[k], gradient->allowed.at("grad_base")[k]};
    if (!agree(all, found, expected, size))
      return violated(
          fmt::format("base {:.17g} times its gradient is {:.9g}, the exponents, frequencies and cotangents "
                      "say {:.9g}, allowed difference {:.3g}",
                      bases[k], found.value, expected.value, found.error + expected.error),
          {}, gradient->outputs);
  }
  return all.result();
}

// p depends on the products m theta alone, so m dp/dm = theta dp/dtheta, summed over all.
outcome check_products(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  double size = 0.0;
  const auto sum = [&](const char* input) {
    const std::string name = std::string("grad_") + input;
    const auto& x = c.call.inputs.at(input).values.storage();
    approximate total;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const approximate term =
          approximate{x[i], 0.0} * approximate{call->outputs.at(name).values.storage()[i], call->allowed.at(name)[i]};
      total = total + term;
      size += std::fabs(term.value);
    }
    return total;
  };
  const approximate by_position = sum("position"), by_theta = sum("theta");
  comparisons all;
  if (!agree(all, by_position, by_theta, size))
    return violated(fmt::format("the sum of m grad_m is {:.9g}, that of theta grad_theta {:.9g}, allowed difference "
                                "{:.3g}",
                                by_position.value, by_theta.value, by_position.error + by_theta.error),
                    {}, call->outputs);
  return all.result();
}

approximate decay_of(const measured_call& call, std::size_t i) {
  return {call.outputs.at("g").values.storage()[i], call.allowed.at("g")[i]};
}

/// No more than this, in either direction: cosines have a mean of at most 1; and as Ci(x) = f(x) sin x - g(x) cos x
/// with f(x) + i g(x) = the integral of e^(-xt) / (1 - it) over t > 0 (DLMF 6.7.13, 6.7.14), |Ci(x)| <= |f + ig| <=
/// 1/x.
double decay_bound(double s, double base) { return std::min(1.0, (1.0 + base) / (std::fabs(s) * std::log(base))); }

// I(0) = 1, I(-s) = I(s), and it decays.
outcome check_decay(implementation& under_test, const test_case& c) {
  const core::tensor& s = c.call.inputs.at("s");
  const std::size_t n = s.size();
  std::vector<double> both(s.values.begin(), s.values.end());
  for (const double x : s.values) both.push_back(0.0 - x);
  both.push_back(0.0);
  const auto call = measure(under_test, with_inputs(c, {{"s", core::make_tensor(s.type, {2 * n + 1}, both)}}));
  if (!call) return call.error();
  const auto wrong = [&](std::size_t i, const char* what, approximate found, double expected) {
    return violated(fmt::format("the decay at distance {:.17g} is {:.9g} {} {:.9g}, allowed difference {:.3g}", both[i],
                                found.value, what, expected, found.error),
                    {}, call->outputs);
  };
  const double base = core::setting<double>(core::completed(*c.call.operation, c.call.attributes), "base");
  comparisons all;
  for (std::size_t i = 0; i < n; ++i) {
    const approximate here = decay_of(*call, i), there = decay_of(*call, n + i);
    if (!agree(all, here, there)) return wrong(i, "and at its negative", here, there.value);
    const double bound = decay_bound(both[i], base);
    if (!(std::fabs(here.value) <= bound * (1 + 0x1p-50) + here.error))
      return wrong(i, "instead of at most", here, bound);
  }
  if (const approximate start = decay_of(*call, 2 * n); start.value != 1.0)
    return wrong(2 * n, "instead of", start, 1.0);
  return n == 0 ? outcome{status::uninformative} : all.result();
}

}  // namespace

property law_of(const char* name, const char* summary, outcome (*check)(implementation&, const test_case&),
                std::vector<std::string> operations, std::vector<std::string> families, std::size_t calls) {
  property p{name, summary,
             [operations](const core::operation& op) {
               return std::find(operations.begin(), operations.end(), op.name) != operations.end();
             },
             check};
  p.families = std::move(families);
  p.calls = calls;
  return p;
}

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
      law_of("sinusoidal_sequence", "frequencies are a geometric sequence from 1 to its end", check_sequence,
             {"sinusoidal/frequencies"}, {"mild", "extreme_bases"}),
      law_of("sinusoidal_base_gradient", "the gradient of a base is that of its frequencies' exponents",
             check_base_gradient, {"sinusoidal/frequencies:vjp"}, {"mild", "extreme_bases"}, 2),
      law_of("sinusoidal_products", "positions and frequencies enter as products", check_products,
             {"sinusoidal/table_at:vjp"}, {"mild", "fractions", "negative_positions", "small_positions"}),
      law_of("sinusoidal_decay", "decay is 1 at distance 0, even, and falls like 1/s in the end", check_decay,
             {"sinusoidal/decay"}, {"mild", "small_distances", "wide_distances"}),
  };
}

}  // namespace assay::properties::encodings::sinusoidal
