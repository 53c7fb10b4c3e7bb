#include "properties/encodings/skeleton/laws/laws.hpp"

#include <fmt/format.h>

#include <cmath>

#include "properties/laws/measured.hpp"

namespace assay::properties::encodings::skeleton {
namespace {

// The case with x multiplied by a factor; exact for powers of two.
test_case with_x_times(const test_case& c, double factor) {
  core::tensors inputs = c.call.inputs;
  for (double& x : inputs.at("x").values.storage()) x = core::round_to(c.call.type, factor * x);
  return with_inputs(c, std::move(inputs));
}

// y(-2x) + 2 y(x) = 3 y(0): y is an affine function of x. The three outputs have their allowed errors.
outcome check_linear(implementation& under_test, const test_case& c) {
  const auto once = measure(under_test, c);
  if (!once) return once.error();
  const auto back = measure(under_test, with_x_times(c, -2.0)), none = measure(under_test, with_x_times(c, 0.0));
  if (!back) return back.error();
  if (!none) return none.error();
  const auto number = [](const measured_call& m, std::size_t i) { return m.outputs.at("y").values.storage()[i]; };
  const auto error = [](const measured_call& m, std::size_t i) { return m.allowed.at("y")[i]; };
  comparisons all;
  for (std::size_t i = 0; i < once->outputs.at("y").size(); ++i) {
    const double sum = number(*back, i) + 2.0 * number(*once, i), wanted = 3.0 * number(*none, i);
    // The last term is the rounding of this comparison itself.
    const double allowed = error(*back, i) + 2.0 * error(*once, i) + 3.0 * error(*none, i) +
                           0x1p-51 * (std::fabs(number(*back, i)) + std::fabs(wanted));
    if (!all.agree(sum, wanted, allowed, std::fabs(number(*back, i))))
      return violated(fmt::format("y(-2x) + 2 y(x) is {:.9g} at element {} where 3 y(0) is {:.9g}, allowed difference "
                                  "{:.3g}",
                                  sum, i, wanted, allowed),
                      none->outputs, once->outputs);
  }
  return all.result();
}

}  // namespace

/// Each law must kill a mutant. A law that holds for other encodings too belongs in properties/laws, without a name.
std::vector<property> laws() {
  property linear{"skeleton_linear", "y(-2x) + 2 y(x) = 3 y(0)",
                  [](const core::operation& op) { return op.name == "skeleton/scale"; }, check_linear};
  linear.calls = 3;
  linear.families = {"mild", "special_values"};
  return {linear};
}

}  // namespace assay::properties::encodings::skeleton
