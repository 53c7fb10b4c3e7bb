// Identities of the gradients that need no truth: a shift of h and s0 together shifts every state.
#include <cmath>

#include "properties/encodings/heinsen/laws/lanes.hpp"
#include "properties/encodings/heinsen/laws/laws.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

// The derivative of log p with respect to the decay input x.
double slope_of(const core::operation& op, double x) {
  if (!op.input("g")) return 1.0;
  return x >= 0 ? std::exp(-x) / (1 + std::exp(-x)) : 1 / (1 + std::exp(x));
}

/// The gradients of one lane; tokens count from 0.
struct lane_gradients : lane_inputs {
  lane_gradients(const test_case& c, const measured_call& call, const lane_position& lane)
      : lane_inputs(c, lane), grad_s0(element(call, "grad_s0", lane.state())) {
    const std::string decay = decay_name(*c.call.operation);
    const auto input = [&](const std::string& name, std::size_t i) {
      return c.call.inputs.at(name).values.storage()[i];
    };
    for (std::size_t i = 0; i < lane.tokens; ++i) {
      grad_decay.push_back(element(call, "grad_" + decay, lane.at(i)));
      grad_h.push_back(element(call, "grad_h", lane.at(i)));
      slope.push_back(slope_of(*c.call.operation, input(decay, lane.at(i))));
      cotangent.push_back(input("grad_s", lane.at(i)));
    }
    cotangent.back() += input("grad_s_n", lane.state());
  }
  /// A state of -inf takes no cotangent.
  [[nodiscard]] bool live(std::size_t token) const { return largest[token + 1] != -HUGE_VAL; }
  approximate grad_s0;
  std::vector<approximate> grad_decay, grad_h;
  std::vector<double> slope, cotangent;
};

// grad_log_p_i = sum over k < i of grad_h_k, plus grad_s0, minus the cotangents before i: the cotangent that is not yet
// spent before token i passes through its decay.
void check_flow(experiment& e, const lane_gradients& x) {
  cancelling_sum spent;
  spent.add(summand(x.grad_s0));
  for (std::size_t i = 0; i < x.grad_h.size(); ++i) {
    e.equal(summand(exactly(x.slope[i]) * spent.value), x.grad_decay[i], x.slope[i] * spent.size,
            "what tokens before {} and s0 receive less their own cotangents, and the gradient in its decay", i + 1);
    spent.add(summand(x.grad_h[i]));
    if (x.live(i)) spent.add(summand(exactly(-x.cotangent[i])));
  }
  e.equal(exactly(0), spent.value, spent.size, "gradients in h and s0 less the cotangents add up to 0");
}

// sum of grad_h, plus grad_s0 = sum of cotangents, from every token on.
void check_conservation(experiment& e) {
  const measured_call& call = e.call();
  for_lanes(e, e.c, [&](const lane_position& lane) { check_flow(e, lane_gradients(e.c, call, lane)); });
}

// A unit cotangent at one token of every lane.
test_case with_unit_cotangent(test_case c, std::size_t token) {
  for (const char* name : {"grad_s", "grad_s_n"})
    for (double& x : c.call.inputs.at(name).values.storage()) x = 0.0;
  fill_along(*c.call.operation, c.call.inputs, "grad_s", "n", {token}, 1.0);
  return c;
}

// With a unit cotangent, gradients in h and s0 are a partition of one, and those in log p are its partial sums.
void check_partition_of(experiment& e, const lane_gradients& x, std::size_t token) {
  e.within(0, 1, x.grad_s0, "ds_{}/ds0 between 0 and 1", token + 1);
  cancelling_sum sum;
  sum.add(summand(x.grad_s0));
  for (std::size_t j = 0; j < x.grad_h.size(); ++j) {
    e.within(0, 1, x.grad_h[j], "ds_{}/dh_{} between 0 and 1", token + 1, j + 1);
    if (j > token) e.equal(exactly(0), x.grad_h[j], 1.0, "ds_{}/dh_{}, of a later token", token + 1, j + 1);
    // The gradients in log p never decrease up to the token, and are 0 after it.
    if (x.slope[j] == 1.0 && j <= token && x.live(token))
      e.at_most(j == 0 ? x.grad_s0 : x.grad_decay[j - 1], x.grad_decay[j], 1.0,
                "ds_{}/dlog p of the token before {}, and of it", token + 1, j + 1);
    sum.add(summand(x.grad_h[j]));
  }
  e.equal(exactly(x.live(token)), sum.value, 1.0, "the sum of the derivatives of s_{} in h and s0", token + 1);
  check_flow(e, x);
}

void check_partition(experiment& e) {
  const std::size_t n = sizes_of(e.c).at("n");
  e.needs(n > 0 && !lanes_of(e.c).empty());
  const std::uint64_t seed = e.c.seed;
  const std::size_t token = core::counter_random(seed).one_in(2) ? n - 1 : core::counter_random(seed + 1).below(n);
  const test_case unit = with_unit_cotangent(e.c, token);
  const measured_call& call = e.call(unit);
  for_lanes(e, unit,
            [&](const lane_position& lane) { check_partition_of(e, lane_gradients(unit, call, lane), token); });
}

// Conservation in the module: grad_b_h + sum of grad_s0 = W_R^T grad_b_R + sum of grad_s_n.
void check_module_conservation(experiment& e) {
  const measured_call& call = e.call();
  const core::axis_sizes sizes = sizes_of(e.c);
  const std::size_t d = sizes.at("d"), rows = sizes.at("B");
  const given_numbers weights(e.c, "W_R"), cotangents(e.c, "grad_s_n");
  for (std::size_t j = 0; j < d; ++j) {
    cancelling_sum sum;
    sum.add(summand(element(call, "grad_b_H", d + j)));
    for (std::size_t row = 0; row < rows; ++row) {
      sum.add(summand(element(call, "grad_s0", row * d + j)));
      sum.add(summand(-cotangents[row * d + j]));
    }
    for (std::size_t k = 0; k < sizes.at("e"); ++k)
      sum.add(-weights[k * d + j] * summand(element(call, "grad_b_R", k)));
    if (std::isfinite(sum.value.error))
      e.equal(exactly(0), sum.value, sum.size,
              "feature {}: 0, and grad_b_h + sum grad_s0 - W_R^T grad_b_R - sum grad_s_n", j);
  }
  e.needs(d * rows * sizes.at("n") > 0);
}

}  // namespace

std::vector<property> gradient_laws() {
  const law_scope gradients = gradients_of_scans();
  law_scope with_module = gradients;
  with_module.operations.emplace_back("heinsen/embed_position:vjp");
  return {law("partition", "the derivatives of one state in h and s0 are a partition of one", gradients,
              {1, check_partition}),
          law("conservation", "gradients in h and s0 add up to the cotangents, from every token on", with_module,
              {1, [](experiment& e) {
                 e.c.call.inputs.contains("W_R") ? check_module_conservation(e) : check_conservation(e);
               }})};
}

}  // namespace assay::properties::encodings::heinsen
