// The laws of the gradient of linear biases by their slopes.
#include <fmt/format.h>

#include <cmath>

#include "properties/encodings/alibi/laws/cases.hpp"
#include "properties/encodings/alibi/laws/laws.hpp"

namespace assay::properties::encodings::alibi {
namespace {

// Euler's identity of a linear function: the slopes with their gradient are the biases with their cotangents.
outcome check_gradient(implementation& under_test, const test_case& c) {
  const core::operation& forward = reference::forward_of(*c.call.operation);
  test_case point = c;
  point.call.operation = &forward;
  std::erase_if(point.call.inputs, [&](const auto& input) { return forward.input(input.first) == nullptr; });
  if (!under_test.describe().offers(forward.name, c.call.type)) return {status::unsupported};
  const auto pulled = measure(under_test, c);
  if (!pulled) return pulled.error();
  const auto pushed = measure(under_test, point);
  if (!pushed) return pushed.error();
  const numbers bias(*pushed, "bias"), grad(*pulled, "grad_slopes");
  const auto& slopes = c.call.inputs.at("slopes").values.storage();
  const auto& cotangents = c.call.inputs.at("grad_bias").values.storage();
  comparisons all;
  for (std::size_t k = 0, pairs = slopes.size() ? bias.x.size() / slopes.size() : 0; k < slopes.size(); ++k) {
    const double inner = slopes[k] * grad.x[k];
    double outer = 0, allowed = std::fabs(slopes[k]) * grad.allowed[k] + 0x1p-52 * std::fabs(inner);
    for (std::size_t p = k * pairs; p < (k + 1) * pairs; ++p) {
      if (std::isinf(bias.x[p]) && bias.x[p] < 0) continue;  // masked, or too far: see the law of the mask
      outer += bias.x[p] * cotangents[p];
      allowed += (bias.allowed[p] + 0x1p-44 * std::fabs(bias.x[p])) * std::fabs(cotangents[p]);
    }
    if (!all.agree(outer, inner, allowed))
      return violated(
          fmt::format("head {}: slope times gradient is {:.9g}, biases times cotangents {:.9g}", k, inner, outer),
          pushed->outputs, pulled->outputs);
  }
  return all.result();
}

// A multiple of 1/8 near x, not 0, which every format holds, as it does its negative.
double on_grid(double x) {
  const double y = std::nearbyint(8.0 * x) / 8.0;
  return y == 0.0 ? 0.5 : y;
}

// Cotangents whose sum over the keys that a causal query may see is exactly 0, as those of logits before a softmax
// (the null direction of every row): pairs of keys get a number and its negative. Those of masked keys stay.
void cancel_in_rows(test_case& c) {
  core::tensor& cotangents = c.call.inputs.at("grad_bias");
  const auto& queries = query_positions(c);
  const auto& keys = key_positions(c);
  for (std::size_t first = 0; first < cotangents.size(); first += keys.size()) {
    double* waiting = nullptr;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      if (keys[j] > queries[first / keys.size() % queries.size()]) continue;
      double& x = cotangents.values.storage()[first + j];
      x = waiting != nullptr ? -*waiting : on_grid(x);
      waiting = waiting != nullptr ? nullptr : &x;
    }
    if (waiting != nullptr) *waiting = 0.0;
  }
}

// sum G (j - i) = sum G j where every row of G adds up to 0: behind a softmax the slopes have one gradient in all
// forms.
outcome check_gradient_forms(implementation& under_test, const test_case& c) {
  if (!has_pairs(c)) return {status::uninformative};
  const auto& drawn = setting<std::string>(c, "form");
  const std::string form = drawn == "distance" ? "key" : drawn;
  test_case cancelling = c;
  cancel_in_rows(cancelling);
  const auto distance = measure(under_test, in_form(cancelling, "distance", true));
  if (!distance) return distance.error();
  const auto other = measure(under_test, in_form(cancelling, form, true));
  if (!other) return other.error();
  comparisons all;
  if (const auto wrong = compare_elements(all, "grad_slopes", *distance, *other))
    return violated("cotangents that cancel in every row, forms distance and " + form + ": " + *wrong,
                    distance->outputs, other->outputs);
  return all.result();
}

}  // namespace

std::vector<property> gradient_laws() {
  const char* gradient = "alibi/bias:vjp";
  return {law_of("alibi_gradient", "the bias is linear in the slopes", check_gradient, gradient, 2),
          law_of("alibi_gradient_forms", "behind a softmax slopes have one gradient in all forms", check_gradient_forms,
                 gradient, 2)};
}

}  // namespace assay::properties::encodings::alibi
