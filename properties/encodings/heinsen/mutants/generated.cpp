// Generated mutants: a fault of the step, or of the adjoint's step, at some tokens.
#include <fmt/format.h>

#include <algorithm>

#include "properties/encodings/heinsen/mutants/mutants.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the schemes below are written in its vocabulary
using namespace reference::encodings;

/// The tokens, of n counted from 0, at which a fault acts.
struct place {
  std::string name;
  std::function<bool(std::size_t i, std::size_t n)> holds;
};

std::vector<place> places() {
  std::vector<place> all{
      {"everywhere", [](std::size_t, std::size_t) { return true; }},
      {"at_the_first_token", [](std::size_t i, std::size_t) { return i == 0; }},
      {"at_the_last_token", [](std::size_t i, std::size_t n) { return i + 1 == n; }},
      {"at_odd_tokens", [](std::size_t i, std::size_t) { return i % 2 == 1; }},
      {"in_the_tail_of_16", [](std::size_t i, std::size_t n) { return i >= n - n % 16; }},
  };
  for (const std::size_t block : {4, 16, 32, 64, 128, 256})
    all.push_back({fmt::format("at_edges_of_{}", block),
                   [block](std::size_t i, std::size_t) { return i > 0 && i % block == 0; }});
  return all;
}

/// The data of a step: its lane, its token, and what the right step needs.
struct step {
  const_lane<R> all_a, all_h;
  const R& s0;
  lane<R> s;
  std::size_t i;
  R a = all_a[i], h = all_h[i], state = before(1);

  [[nodiscard]] R before(std::size_t back) const { return i < back ? s0 : R(s[i - back]); }
  [[nodiscard]] std::size_t next() const { return std::min(i + 1, s.size() - 1); }
  [[nodiscard]] std::size_t previous() const { return i == 0 ? 0 : i - 1; }
};
/// A wrong state after a token.
struct step_fault {
  const char* name;
  R (*state)(const step& data);
};
constexpr step_fault step_faults[] = {
    {"decay_dropped", [](const step& data) { return log_sum_exp(data.state, data.h); }},
    {"decay_subtracted", [](const step& data) { return log_sum_exp(data.state - data.a, data.h); }},
    {"decay_doubled", [](const step& data) { return log_sum_exp(data.a + data.a + data.state, data.h); }},
    {"state_dropped", [](const step& data) { return log_sum_exp(data.a, data.h); }},
    {"input_dropped", [](const step& data) { return data.a + data.state; }},
    {"maximum_for_sum", [](const step& data) { return larger(data.a + data.state, data.h); }},
    {"sum_for_log_sum", [](const step& data) { return data.a + data.state + data.h; }},
    {"input_decayed", [](const step& data) { return log_sum_exp(data.state, data.a + data.h); }},
    {"initial_state_again", [](const step& data) { return log_sum_exp(data.a + data.s0, data.h); }},
    {"state_before_last", [](const step& data) { return log_sum_exp(data.a + data.before(2), data.h); }},
    {"decay_of_next", [](const step& data) { return log_sum_exp(data.all_a[data.next()] + data.state, data.h); }},
    {"decay_of_previous",
     [](const step& data) { return log_sum_exp(data.all_a[data.previous()] + data.state, data.h); }},
    {"input_of_next", [](const step& data) { return log_sum_exp(data.a + data.state, data.all_h[data.next()]); }},
    {"input_of_previous",
     [](const step& data) { return log_sum_exp(data.a + data.state, data.all_h[data.previous()]); }},
};

scheme_change<scan_scheme> with_fault(const step_fault& fault, const place& where) {
  return with_scan([fault, where](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
    for (std::size_t i = 0; i < s.size(); ++i) {
      const step data{a, h, s0, s, i};
      s[i] = where.holds(i, s.size()) ? fault.state(data) : log_sum_exp(data.a + data.state, data.h);
    }
  });
}

/// The results of a step of the adjoint: gradients, and the carry to the token before.
struct step_gradients {
  R a, h, carry;
};
step_gradients weighted(const R& w, const R& v, const R& lambda) { return {w * lambda, v * lambda, w * lambda}; }

/// The data of a step of the adjoint: weights of the past and of the input, the cotangent of its state, the carry that
/// it receives, and the sum of the cotangent and the carry.
struct adjoint_step {
  R w, v, cotangent, carry;
  bool is_first;
  R lambda = cotangent + carry;
};
/// A wrong result at a token.
struct adjoint_fault {
  const char* name;
  step_gradients (*gradients)(const adjoint_step& data);
};
constexpr adjoint_fault adjoint_faults[] = {
    {"carry_dropped", [](const adjoint_step& data) { return weighted(data.w, data.v, data.cotangent + R(0.0)); }},
    {"cotangent_dropped", [](const adjoint_step& data) { return weighted(data.w, data.v, data.carry); }},
    {"weights_swapped", [](const adjoint_step& data) { return weighted(data.v, data.w, data.lambda); }},
    {"carry_not_weighted",
     [](const adjoint_step& data) {
       return step_gradients{data.w * data.lambda, data.v * data.lambda, data.lambda};
     }},
    {"input_not_weighted",
     [](const adjoint_step& data) {
       return step_gradients{data.w * data.lambda, data.lambda, data.w * data.lambda};
     }},
    {"carry_negated", [](const adjoint_step& data) { return weighted(data.w, data.v, data.cotangent + -data.carry); }},
    {"weight_squared", [](const adjoint_step& data) { return weighted(data.w * data.w, data.v, data.lambda); }},
    {"state_gradient_doubled",
     [](const adjoint_step& data) {
       step_gradients out = weighted(data.w, data.v, data.lambda);
       if (data.is_first) out.carry = out.carry + out.carry;
       return out;
     }},
};

// A state of -inf passes nothing on; if one term is -inf, the other has the weight 1.
weight_pair<R> weights_of(const R& t, const R& h) {
  const bool no_past = is_minus_infinity(t), no_input = is_minus_infinity(h);
  if (no_past || no_input) return {R(no_past ? 0.0 : 1.0), R(no_input ? 0.0 : 1.0)};
  return carry_weights(t - h);
}

scheme_change<scan_scheme> with_fault(const adjoint_fault& fault, const place& where) {
  return with_adjoint([fault, where](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s,
                                     const_lane<R> grad_s, const R& grad_last, scan_gradients<R> grad) {
    grad.s0 = grad_last;
    for (std::size_t i = s.size(); i-- > 0;) {
      const R t = a[i] + (i == 0 ? s0 : s[i - 1]);
      const weight_pair<R> weight = weights_of(t, h[i]);
      const adjoint_step data{weight.w, weight.v, grad_s[i], grad.s0, i == 0};
      const step_gradients out =
          where.holds(i, s.size()) ? fault.gradients(data) : weighted(data.w, data.v, data.lambda);
      grad.a[i] = out.a;
      grad.h[i] = out.h;
      grad.s0 = out.carry;
    }
  });
}

/// Adds each fault at each place.
template <class Faults>
void append(std::vector<variant>& all, const char* group, const Faults& faults) {
  for (const auto& fault : faults)
    for (const place& where : places())
      all.push_back(changed_heinsen(fmt::format("generated/heinsen/{}/{}/{}", group, fault.name, where.name),
                                    "generated", fmt::format("{}: {} {}", group, fault.name, where.name),
                                    {.formula = with_fault(fault, where)}));
}

}  // namespace

std::vector<variant> generated_mutants() {
  std::vector<variant> all;
  append(all, "step", step_faults);
  append(all, "adjoint", adjoint_faults);
  return all;
}

}  // namespace assay::properties::encodings::heinsen
