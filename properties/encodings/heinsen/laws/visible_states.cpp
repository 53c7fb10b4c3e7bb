#include "properties/encodings/heinsen/laws/visible_states.hpp"

#include <algorithm>
#include <cmath>

namespace assay::properties::encodings::heinsen {
namespace {

// Of one output element: the widest law, the rounding to storage (of the truth, which may be that much larger), and
// the arithmetic of the comparison itself.
double allowance(const request& call, core::dtype compute, double k, double x) {
  const double rounding = bug_slack * core::unit_roundoff(compute) * k;
  const double largest_truth = std::fabs(x) + rounding + 2 * core::half_ulp(call.type, x);
  return rounding + core::half_ulp(call.type, largest_truth) + 0x1p-50 * (1.0 + std::fabs(x));
}

}  // namespace

bool shows_states(const core::operation& op) {
  return !op.is_vjp() && op.recurrent && (op.output("s") || (op.output("y") && op.input("W_R")));
}

core::tensors with_visible_states(const core::tensors& inputs) {
  core::tensors out = inputs;
  if (!out.contains("W_R")) return out;
  core::tensor& weight = out.at("W_R");
  weight = core::zeros(weight.type, weight.shape());
  const std::size_t e = weight.shape()[0], d = weight.shape()[1];
  for (std::size_t k = 0; k < std::min(e, d); ++k) weight.values.storage()[k * d + k] = 1.0;
  core::tensor& bias = out.at("b_R");
  bias = core::zeros(bias.type, bias.shape());
  return out;
}

tl::expected<visible_states, outcome> observe(implementation& under_test, const test_case& c) {
  if (!within_domain(under_test.describe(), c)) return tl::make_unexpected(outcome{status::outside_domain});
  const request& call = c.call;
  const call_result outputs = under_test.evaluate(call);
  if (!outputs) return tl::make_unexpected(no_outputs(outputs.error()));
  const core::dtype compute = under_test.describe().compute_dtype(call.type);
  const bool module = call.operation->output("y") != nullptr;
  const char* name = module ? "y" : "s";
  const auto allowed = reference::allow(call, compute);
  const auto& k = allowed.at(name).k.back().storage();
  const auto& shown = outputs->at(name).values;
  const core::tensor& s0 = call.inputs.at(call.operation->recurrent->state_in);
  const std::size_t width = shown.shape(2), d = s0.shape()[1];
  visible_states seen{shown.shape(0), shown.shape(1), std::min(width, d), {}, {}, {}};
  for (std::size_t token = 0; token < seen.batch * seen.tokens; ++token)
    for (std::size_t j = 0; j < seen.features; ++j) {
      const std::size_t i = token * width + j;
      const double x = shown.storage()[i];
      seen.value.push_back(module ? x - call.inputs.at("x").values.storage()[i] : x);
      seen.allowed.push_back(allowance(call, compute, k[i], x));
    }
  for (std::size_t row = 0; row < seen.batch; ++row)
    for (std::size_t j = 0; j < seen.features; ++j) seen.initial.push_back(s0.values.storage()[row * d + j]);
  return seen;
}

}  // namespace assay::properties::encodings::heinsen
