// Sequences whose states have a formula without a recurrence, evaluated in extended precision: a reference that shares
// no code with assay::reference.
#include <cmath>

#include "properties/encodings/heinsen/laws/lanes.hpp"
#include "properties/encodings/heinsen/laws/laws.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using extended = long double;

// log p in extended precision, for a decay given as log p or as a gate logit.
extended log_decay_extended(const core::operation& op, double x) {
  if (!op.input("g")) return x;
  return x >= 0 ? -std::log1p(std::exp(-extended(x))) : extended(x) - std::log1p(std::exp(extended(x)));
}

struct closed_form {
  const char* name;
  /// Changes the inputs of one lane to their special form; `decay` and h count from 0.
  void (*prepare)(const core::operation& op, std::vector<double>& decay, std::vector<double>& h, double& s0);
  /// s_i, for i from 1, from the inputs that `prepare` left; a is log p.
  extended (*state)(const std::vector<extended>& a, const std::vector<double>& h, double s0, std::size_t i);
};

// p = 1: the cumulative log-sum-exp of s0 and all inputs, about their largest.
extended cumulative(const std::vector<extended>&, const std::vector<double>& h, double s0, std::size_t i) {
  extended largest = s0, sum = 0;
  for (std::size_t k = 0; k < i; ++k) largest = std::max(largest, extended(h[k]));
  for (std::size_t k = 0; k < i; ++k) sum += std::exp(h[k] - largest);
  return largest + std::log(sum + std::exp(s0 - largest));
}

// Constant p < 1 and h: exp(s_i) = exp(h) (1 - p^i) / (1 - p) + p^i exp(s0).
extended geometric(const std::vector<extended>& a, const std::vector<double>& h, double s0, std::size_t i) {
  const extended decayed = a[0] * extended(i), fixed_point = h[0] - std::log(-std::expm1(a[0]));
  const extended x = fixed_point + std::log(-std::expm1(decayed)), y = s0 + decayed, m = std::max(x, y);
  return m + std::log1p(std::exp(std::min(x, y) - m));
}

extended decayed_state(const std::vector<extended>& a, const std::vector<double>&, double s0, std::size_t i) {
  extended sum = s0;
  for (std::size_t k = 0; k < i; ++k) sum += a[k];
  return sum;
}

const closed_form forms[] = {
    {"p = 1, a cumulative log-sum-exp",
     [](const core::operation& op, std::vector<double>& decay, std::vector<double>&, double&) {
       std::fill(decay.begin(), decay.end(), neutral_decay(op));
     },
     cumulative},
    {"h = -inf, s0 plus the sum of log p",
     [](const core::operation&, std::vector<double>&, std::vector<double>& h, double&) {
       std::fill(h.begin(), h.end(), -HUGE_VAL);
     },
     decayed_state},
    {"constant p and h, a geometric sum",
     [](const core::operation& op, std::vector<double>& decay, std::vector<double>& h, double&) {
       if (!op.input("g") && decay[0] == 0.0) decay[0] = -0.5;
       std::fill(decay.begin(), decay.end(), decay[0]);
       std::fill(h.begin(), h.end(), h[0]);
     },
     geometric},
    {"p = 0, the input itself",
     [](const core::operation& op, std::vector<double>& decay, std::vector<double>&, double&) {
       // A gate logit cannot give p = 0; at -3072 the carried state lies 3000 nats below.
       std::fill(decay.begin(), decay.end(), op.input("g") ? -3072.0 : -HUGE_VAL);
     },
     [](const std::vector<extended>&, const std::vector<double>& h, double, std::size_t i) {
       return extended(h[i - 1]);
     }},
};

test_case prepared(const test_case& c, const closed_form& form) {
  const core::operation& op = *c.call.operation;
  core::tensors inputs = c.call.inputs;
  auto &decay = inputs.at(decay_name(op)).values.storage(), &h = inputs.at("h").values.storage();
  for (const lane_position& lane : lanes_of(c)) {
    std::vector<double> lane_decay, lane_h;
    for (std::size_t i = 0; i < lane.tokens; ++i) {
      lane_decay.push_back(decay[lane.at(i)]);
      lane_h.push_back(h[lane.at(i)]);
    }
    form.prepare(op, lane_decay, lane_h, inputs.at("s0").values.storage()[lane.state()]);
    for (std::size_t i = 0; i < lane.tokens; ++i) {
      decay[lane.at(i)] = lane_decay[i];
      h[lane.at(i)] = lane_h[i];
    }
  }
  return with_inputs(c, std::move(inputs));
}

void check_form(experiment& e, const test_case& special, const closed_form& form) {
  const core::operation& op = *special.call.operation;
  const measured_call& call = e.call(special);
  for_lanes(e, special, [&](const lane_position& lane) {
    const lane_inputs x(special, lane);
    std::vector<extended> a;
    for (std::size_t i = 0; i < lane.tokens; ++i)
      a.push_back(log_decay_extended(op, special.call.inputs.at(decay_name(op)).values.storage()[lane.at(i)]));
    const std::vector<double> h(x.h.begin() + 1, x.h.end());
    for (std::size_t i = 1; i <= lane.tokens; ++i) {
      const extended expected = form.state(a, h, x.s0, i);
      const approximate s = element(call, "s", lane.at(i - 1));
      const extended rounding = 0x1p-58L * (1 + std::fabs(expected)) * extended(i);
      e.equal({0.0, static_cast<double>(rounding)}, {static_cast<double>(s.value - expected), s.error},
              std::max(scale_of_states, static_cast<double>(std::fabs(expected))),
              "{}: by how much s_{} = {:.9g} differs from {:.9g}", form.name, i, s.value,
              static_cast<double>(expected));
    }
  });
}

void check_closed_forms(experiment& e) {
  e.needs(sizes_of(e.c).at("n") > 0 && !lanes_of(e.c).empty());
  bool any = false;
  for (const closed_form& form : forms)
    if (const test_case special = prepared(e.c, form); within_domain(e.about(), special)) {
      any = true;
      check_form(e, special, form);
    }
  if (!any) e.needs_domain(prepared(e.c, forms[0]));
}

}  // namespace

std::vector<property> closed_form_laws() {
  return {law("closed_forms", "p = 1, p = 0, no input, constant p and h: against formulas without a recurrence",
              {scans().operations, {"mild", "gates_near_one", "gates_near_zero", "constant_gate", "block_half_life"}},
              {4, check_closed_forms})};
}

}  // namespace assay::properties::encodings::heinsen
