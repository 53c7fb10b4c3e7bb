// Identities of the gradients that need no truth: moving h and s0 together moves every state.
#include <fmt/format.h>

#include <cmath>

#include "properties/encodings/heinsen/laws/lanes.hpp"
#include "properties/encodings/heinsen/laws/laws.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

// A sum of computed numbers and the error that it may have.
struct allowed_sum {
  double value = 0, allowed = 0;
  void add(double x, double error, double factor = 1) {
    value += factor * x;
    allowed += std::fabs(factor) * error + 0x1p-44 * std::fabs(factor * x);
  }
};

// The gradients of one lane; those in the decay divided by its slope, so that they are those in log p.
struct lane_gradients {
  std::vector<double> decay, decay_allowed, slope, h, h_allowed, cotangent;
  double s0 = 0, s0_allowed = 0;
  std::vector<double> largest;  ///< of index i = 0..n; -inf exactly where the state is
};

lane_gradients gradients_of(const test_case& c, const measured_call& call, const lane_position& lane) {
  const core::operation& op = *c.call.operation;
  const std::string decay = decay_name(op), of_decay = "grad_" + decay;
  const auto input = [&](const std::string& name, std::size_t i) { return c.call.inputs.at(name).values.storage()[i]; };
  lane_gradients x;
  x.s0 = call.outputs.at("grad_s0").values.storage()[lane.state()];
  x.s0_allowed = call.allowed.at("grad_s0")[lane.state()];
  x.largest = {input("s0", lane.state())};
  for (std::size_t i = 0; i < lane.tokens; ++i) {
    const std::size_t at = lane.at(i);
    const double g = input(decay, at);
    x.decay.push_back(call.outputs.at(of_decay).values.storage()[at]);
    x.decay_allowed.push_back(call.allowed.at(of_decay)[at]);
    // d log p / d g = sigmoid(-g)
    x.slope.push_back(op.input("g") ? (g >= 0 ? std::exp(-g) / (1 + std::exp(-g)) : 1 / (1 + std::exp(g))) : 1.0);
    x.h.push_back(call.outputs.at("grad_h").values.storage()[at]);
    x.h_allowed.push_back(call.allowed.at("grad_h")[at]);
    x.cotangent.push_back(input("grad_s", at));
    x.largest.push_back(std::max(log_decay(op, g) + x.largest.back(), input("h", at)));
  }
  if (lane.tokens > 0) x.cotangent.back() += input("grad_s_n", lane.state());
  return x;
}

// grad_log_p_i = sum over k < i of grad_h_k, and grad_s0, less the cotangents before i: what has not been
// spent before token i passes through its decay.
std::string check_flow(const lane_gradients& x) {
  allowed_sum spent;
  spent.add(x.s0, x.s0_allowed);
  for (std::size_t i = 0; i < x.h.size(); ++i) {
    const double expected = x.slope[i] * spent.value;
    const double of_spent = x.slope[i] == 0.0 ? 0.0 : x.slope[i] * spent.allowed;
    const double allowed = of_spent + x.decay_allowed[i] + 0x1p-44 * std::fabs(expected);
    if (!(std::fabs(x.decay[i] - expected) <= allowed))
      return fmt::format(
          "the gradient in the decay of token {} is {:.9g}; what tokens before it and s0 receive less "
          "their own cotangents is {:.9g}, allowed difference {:.3g}",
          i + 1, x.decay[i], expected, allowed);
    spent.add(x.h[i], x.h_allowed[i]);
    // A state of -inf takes no cotangent.
    if (x.largest[i + 1] != -HUGE_VAL) spent.add(-x.cotangent[i], 0);
  }
  if (!(std::fabs(spent.value) <= spent.allowed))
    return fmt::format("gradients in h and s0 add up to {:.9g} more than the cotangents, allowed {:.3g}", spent.value,
                       spent.allowed);
  return "";
}

outcome check_conservation(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  outcome all{status::uninformative};
  for (const lane_position& lane : lanes_of(c)) {
    if (lane.tokens == 0) continue;
    const lane_gradients x = gradients_of(c, *call, lane);
    if (const std::string wrong = check_flow(x); !wrong.empty())
      return violated(fmt::format("row {} feature {}: {}", lane.row, lane.feature, wrong), {}, call->outputs);
    all = {};
  }
  return all;
}

// A unit cotangent at one token of every lane.
test_case with_unit_cotangent(const test_case& c, std::size_t token) {
  core::tensors inputs = c.call.inputs;
  for (const char* name : {"grad_s", "grad_s_n"}) {
    core::tensor& t = inputs.at(name);
    t = core::zeros(t.type, t.shape());
  }
  test_case unit = with_inputs(c, std::move(inputs));
  for (const lane_position& lane : lanes_of(c)) unit.call.inputs.at("grad_s").values.storage()[lane.at(token)] = 1.0;
  return unit;
}

std::string check_partition_of(const lane_gradients& x, std::size_t token) {
  const bool live = x.largest[token + 1] != -HUGE_VAL;
  const auto in_unit_interval = [](double v, double allowed) { return v >= -allowed && v <= 1 + allowed; };
  if (!in_unit_interval(x.s0, x.s0_allowed)) return fmt::format("ds_{}/ds0 = {:.9g}", token + 1, x.s0);
  allowed_sum sum;
  sum.add(x.s0, x.s0_allowed);
  double before = x.s0, before_allowed = x.s0_allowed;
  for (std::size_t j = 0; j < x.h.size(); ++j) {
    if (!in_unit_interval(x.h[j], x.h_allowed[j]) || (j > token && !(std::fabs(x.h[j]) <= x.h_allowed[j])))
      return fmt::format("ds_{}/dh_{} = {:.9g}", token + 1, j + 1, x.h[j]);
    // The gradients in log p never fall up to the token, and are 0 after it.
    if (x.slope[j] == 1.0 && j <= token && live && !(x.decay[j] >= before - before_allowed - x.decay_allowed[j]))
      return fmt::format("ds_{}/dlog p_{} = {:.9g}, less than {:.9g} at the token before", token + 1, j + 1, x.decay[j],
                         before);
    before = x.decay[j];
    before_allowed = x.decay_allowed[j];
    sum.add(x.h[j], x.h_allowed[j]);
  }
  sum.add(live ? -1.0 : 0.0, 0);
  if (!(std::fabs(sum.value) <= sum.allowed))
    return fmt::format("the derivatives of s_{} in h and s0 add up to {:.9g}", token + 1,
                       sum.value + (live ? 1.0 : 0.0));
  return check_flow(x);
}

outcome check_partition(implementation& under_test, const test_case& c) {
  const std::size_t n = sizes_of(c).at("n");
  if (n == 0 || lanes_of(c).empty()) return {status::uninformative};
  const std::size_t token = core::counter_random(c.seed).one_in(2) ? n - 1 : core::counter_random(c.seed + 1).below(n);
  const test_case unit = with_unit_cotangent(c, token);
  const auto call = measure(under_test, unit);
  if (!call) return call.error();
  for (const lane_position& lane : lanes_of(unit))
    if (const std::string wrong = check_partition_of(gradients_of(unit, *call, lane), token); !wrong.empty())
      return violated(fmt::format("row {} feature {}: {}", lane.row, lane.feature, wrong), {}, call->outputs);
  return {};
}

// The same, lifted to the module: grad_b_h + sum of grad_s0 = W_R^T grad_b_R + sum of grad_s_n.
outcome check_module_conservation(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const core::axis_sizes sizes = sizes_of(c);
  const std::size_t d = sizes.at("d"), e = sizes.at("e"), rows = sizes.at("B"), n = sizes.at("n");
  for (std::size_t j = 0; j < d; ++j) {
    allowed_sum sum;
    const auto add = [&](const char* name, std::size_t i, double factor) {
      sum.add(call->outputs.at(name).values.storage()[i], call->allowed.at(name)[i], factor);
    };
    add("grad_b_H", d + j, 1);
    for (std::size_t row = 0; row < rows; ++row) {
      add("grad_s0", row * d + j, 1);
      sum.add(c.call.inputs.at("grad_s_n").values.storage()[row * d + j], 0, -1);
    }
    for (std::size_t k = 0; k < e; ++k) add("grad_b_R", k, -c.call.inputs.at("W_R").values.storage()[k * d + j]);
    if (!std::isfinite(sum.allowed)) continue;
    if (!(std::fabs(sum.value) <= sum.allowed))
      return violated(
          fmt::format("feature {}: grad_b_h + sum grad_s0 - W_R^T grad_b_R - sum grad_s_n = {:.9g}, allowed "
                      "{:.3g}",
                      j, sum.value, sum.allowed),
          {}, call->outputs);
  }
  return {d * rows * n == 0 ? status::uninformative : status::passed};
}

}  // namespace

property conservation_property() {
  property p{"conservation", "gradients in h and s0 add up to the cotangents, from every token on"};
  p.applies = [](const core::operation& op) {
    return is_heinsen_scan(op, core::derivative::vjp) || op.name == "heinsen/embed_position:vjp";
  };
  p.check = [](implementation& under_test, const test_case& c) {
    return c.call.inputs.contains("W_R") ? check_module_conservation(under_test, c) : check_conservation(under_test, c);
  };
  return p;
}
property partition_property() {
  property p{"partition", "the derivatives of one state in h and s0 are a partition of one"};
  p.applies = [](const core::operation& op) { return is_heinsen_scan(op, core::derivative::vjp); };
  p.check = check_partition;
  return p;
}

std::vector<property> laws() {
  return {sandwich_property(),     inverse_step_property(),    monotone_property(),        convex_property(),
          contraction_property(),  shift_property(),           shift_direction_property(), closed_forms_property(),
          reset_property(),        neutral_padding_property(), final_state_property(),     partition_property(),
          conservation_property(), counter_property(),         constant_stream_property()};
}

}  // namespace assay::properties::encodings::heinsen
