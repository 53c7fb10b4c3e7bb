#include "properties/encodings/heinsen/laws/visible_states.hpp"

#include <algorithm>
#include <cmath>

namespace assay::properties::encodings::heinsen {
namespace {

// The sum of the widest law, the rounding to storage (of the truth, which may be larger by that much), and the
// arithmetic of the comparison itself.
double allowance(core::dtype type, approximate x) {
  const double own = core::half_ulp(type, x.value), largest_truth = std::fabs(x.value) + x.error + own;
  return x.error - own + core::half_ulp(type, largest_truth) + 0x1p-50 * (1.0 + std::fabs(x.value));
}

}  // namespace

law_scope what_shows_states() {
  return {.with = [](const core::operation& op) {
    return !op.is_vjp() && op.recurrent && (op.output("s") || (op.output("y") && op.input("W_R")));
  }};
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

visible_states observe(experiment& e, const test_case& c) {
  e.needs_domain(c);
  const bool module = c.call.operation->output("y") != nullptr;
  const numbers shown(e.call(c), module ? "y" : "s");
  const core::tensor& s0 = c.call.inputs.at(c.call.operation->recurrent->state_in);
  const std::size_t width = shown.shape[2], d = s0.shape()[1];
  visible_states seen{shown.shape[0], shown.shape[1], std::min(width, d), {}, {}};
  for (std::size_t token = 0; token < seen.batch * seen.tokens; ++token)
    for (std::size_t j = 0; j < seen.features; ++j) {
      const std::size_t i = token * width + j;
      const double before = module ? c.call.inputs.at("x").values.storage()[i] : 0.0;
      seen.value.push_back({shown.x[i] - before, allowance(c.call.type, shown[i])});
    }
  for (std::size_t row = 0; row < seen.batch; ++row)
    for (std::size_t j = 0; j < seen.features; ++j) seen.initial.push_back(s0.values.storage()[row * d + j]);
  return seen;
}

}  // namespace assay::properties::encodings::heinsen
