// The laws of the gradient of linear biases by their slopes.
#include <cmath>

#include "properties/encodings/alibi/laws/cases.hpp"
#include "properties/encodings/alibi/laws/laws.hpp"

namespace assay::properties::encodings::alibi {
namespace {

// Euler's identity of a linear function: the slopes with their gradient are the biases with their cotangents.
void check_gradient(experiment& e) {
  const numbers grad(e.call(), "grad_slopes"), bias(e.forward(), "bias");
  const given_numbers slopes(e.c, "slopes"), cotangents(e.c, "grad_bias");
  for (std::size_t k = 0, pairs = slopes.size() ? bias.size() / slopes.size() : 0; k < slopes.size(); ++k) {
    approximate outer;
    for (std::size_t p = k * pairs; p < (k + 1) * pairs; ++p)
      // -inf: masked, or too far. See the law of the mask.
      if (!std::isinf(bias.x[p]) || bias.x[p] > 0) outer += bias[p] * cotangents[p];
    e.equal(outer, slopes[k] * grad[k], "head {}: biases times cotangents, and slope times gradient", k);
  }
}

// A multiple of 1/8 near x, not 0, which every format holds, as it does its negative.
double on_grid(double x) {
  const double y = std::nearbyint(8.0 * x) / 8.0;
  return y == 0.0 ? 0.5 : y;
}

// Cotangents whose sum over the keys that a causal query may see is exactly 0, as those of logits before a softmax
// (the null direction of every row): pairs of keys get a number and its negative. Those of masked keys stay.
test_case cancelling_in_rows(test_case c) {
  core::tensor& cotangents = c.call.inputs.at("grad_bias");
  const auto &queries = query_positions(c), &keys = key_positions(c);
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
  return c;
}

// sum G (j - i) = sum G j where every row of G adds up to 0.
std::optional<test_case> cancelling_by_distance(const test_case& c) {
  return in_form(cancelling_in_rows(c), "distance", true);
}
std::optional<test_case> cancelling_by_other_form(const test_case& c) {
  return in_form(cancelling_in_rows(c), other_form(c), true);
}

}  // namespace

std::vector<property> gradient_laws() {
  const law_scope gradient = of("alibi/bias:vjp");
  return {law("alibi_gradient", "the bias is linear in the slopes", gradient, {2, check_gradient}),
          law("alibi_gradient_forms", "behind a softmax slopes have one gradient in all forms", gradient,
              agree_between(where(has_elements, cancelling_by_distance), cancelling_by_other_form,
                            "cotangents that cancel in every row, the form distance and another"))};
}

}  // namespace assay::properties::encodings::alibi
