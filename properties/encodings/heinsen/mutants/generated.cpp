// Generated mutants: a fault of the step, or of the adjoint's step, at some of the tokens.
#include <fmt/format.h>

#include <cmath>

#include "properties/encodings/heinsen/mutants/mutants.hpp"
#include "properties/encodings/heinsen/mutants/recipes.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

/// At which of n tokens, counted from 0, a fault acts.
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

/// What a step sees: its lane and its token.
template <class R>
struct step_view {
  const_lane<R> a, h;
  const R& s0;
  lane<R> s;
  std::size_t i;
  [[nodiscard]] R before(std::size_t back) const { return i < back ? s0 : R(s[i - back]); }
  [[nodiscard]] std::size_t next() const { return std::min(i + 1, s.size() - 1); }
  [[nodiscard]] std::size_t previous() const { return i == 0 ? 0 : i - 1; }
};

enum class step_fault {
  decay_dropped,
  decay_subtracted,
  decay_doubled,
  state_dropped,
  input_dropped,
  maximum_for_sum,
  sum_for_log_sum,
  input_decayed,
  initial_state_again,
  state_before_last,
  decay_of_next,
  decay_of_previous,
  input_of_next,
  input_of_previous,
};
constexpr const char* step_fault_names[] = {
    "decay_dropped",   "decay_subtracted",  "decay_doubled", "state_dropped",       "input_dropped",
    "maximum_for_sum", "sum_for_log_sum",   "input_decayed", "initial_state_again", "state_before_last",
    "decay_of_next",   "decay_of_previous", "input_of_next", "input_of_previous"};

template <class R>
R faulty_step(step_fault fault, const step_view<R>& at) {
  const R a = at.a[at.i], h = at.h[at.i], state = at.before(1);
  switch (fault) {
    case step_fault::decay_dropped:
      return log_sum_exp(state, h);
    case step_fault::decay_subtracted:
      return log_sum_exp(state - a, h);
    case step_fault::decay_doubled:
      return log_sum_exp(a + a + state, h);
    case step_fault::state_dropped:
      return log_sum_exp(a, h);
    case step_fault::input_dropped:
      return a + state;
    case step_fault::maximum_for_sum:
      return larger(a + state, h);
    case step_fault::sum_for_log_sum:
      return a + state + h;
    case step_fault::input_decayed:
      return log_sum_exp(state, a + h);
    case step_fault::initial_state_again:
      return log_sum_exp(a + at.s0, h);
    case step_fault::state_before_last:
      return log_sum_exp(a + at.before(2), h);
    case step_fault::decay_of_next:
      return log_sum_exp(at.a[at.next()] + state, h);
    case step_fault::decay_of_previous:
      return log_sum_exp(at.a[at.previous()] + state, h);
    case step_fault::input_of_next:
      return log_sum_exp(a + state, at.h[at.next()]);
    case step_fault::input_of_previous:
      return log_sum_exp(a + state, at.h[at.previous()]);
  }
  return state;
}

struct faulty_scan : unchanged_heinsen {
  step_fault fault;
  place where;
  template <class R>
  reference::encodings::heinsen::recipe<R> recipe() const {
    reference::encodings::heinsen::recipe<R> how;
    how.scan = [fault = fault, where = where](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      for (std::size_t i = 0; i < s.size(); ++i) {
        const step_view<R> at{a, h, s0, s, i};
        s[i] = where.holds(i, s.size()) ? faulty_step(fault, at) : log_sum_exp(a[i] + at.before(1), h[i]);
      }
    };
    return how;
  }
};

enum class adjoint_fault {
  carry_dropped,
  cotangent_dropped,
  weights_swapped,
  carry_not_weighted,
  input_not_weighted,
  carry_negated,
  weight_squared,
  state_gradient_doubled,
};
constexpr const char* adjoint_fault_names[] = {"carry_dropped",      "cotangent_dropped",     "weights_swapped",
                                               "carry_not_weighted", "input_not_weighted",    "carry_negated",
                                               "weight_squared",     "state_gradient_doubled"};

struct faulty_adjoint : unchanged_heinsen {
  adjoint_fault fault;
  place where;
  template <class R>
  reference::encodings::heinsen::recipe<R> recipe() const {
    reference::encodings::heinsen::recipe<R> how;
    how.adjoint = [fault = fault, where = where](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s,
                                                 const_lane<R> grad_s, const R& grad_last, scan_gradients<R> grad) {
      R carry = grad_last;
      for (std::size_t i = s.size(); i-- > 0;) {
        const auto is = [&](adjoint_fault f) { return fault == f && where.holds(i, s.size()); };
        const R t = a[i] + (i == 0 ? s0 : s[i - 1]);
        const bool no_past = is_minus_infinity(t), no_input = is_minus_infinity(h[i]);
        R w = no_past ? R(0.0) : no_input ? R(1.0) : carry_weights(t - h[i]).w;
        R v = no_input ? R(0.0) : no_past ? R(1.0) : carry_weights(t - h[i]).v;
        if (is(adjoint_fault::weights_swapped)) std::swap(w, v);
        if (is(adjoint_fault::weight_squared)) w = w * w;
        const R from_later = is(adjoint_fault::carry_dropped)   ? R(0.0)
                             : is(adjoint_fault::carry_negated) ? -carry
                                                                : carry;
        const R lambda = is(adjoint_fault::cotangent_dropped) ? from_later : grad_s[i] + from_later;
        grad.a[i] = w * lambda;
        grad.h[i] = is(adjoint_fault::input_not_weighted) ? lambda : v * lambda;
        carry = is(adjoint_fault::carry_not_weighted) ? lambda : R(grad.a[i]);
        if (is(adjoint_fault::state_gradient_doubled) && i == 0) carry = carry + carry;
      }
      grad.s0 = carry;
    };
    return how;
  }
};

template <class Faulty>
variant generated(const std::string& group, const char* fault_name, const Faulty& faulty) {
  const std::string id = fmt::format("generated/heinsen/{}/{}/{}", group, fault_name, faulty.where.name);
  return {id, "generated", fmt::format("{}: {} {}", group, fault_name, faulty.where.name),
          [id, faulty] { return std::make_unique<recipe_variant<Faulty>>(id, faulty); }};
}

}  // namespace

std::vector<variant> generated_mutants() {
  std::vector<variant> all;
  for (std::size_t f = 0; f < std::size(step_fault_names); ++f)
    for (const place& where : places())
      all.push_back(generated("step", step_fault_names[f], faulty_scan{{}, static_cast<step_fault>(f), where}));
  for (std::size_t f = 0; f < std::size(adjoint_fault_names); ++f)
    for (const place& where : places())
      all.push_back(
          generated("adjoint", adjoint_fault_names[f], faulty_adjoint{{}, static_cast<adjoint_fault>(f), where}));
  return all;
}

}  // namespace assay::properties::encodings::heinsen
