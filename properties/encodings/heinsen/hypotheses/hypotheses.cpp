// Wrong models of the states; each is one function of a lane or of all lanes.
#include "properties/encodings/heinsen/hypotheses/hypotheses.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "properties/encodings/heinsen/hypotheses/scan_problem.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using core::infinity;
using problem_model = std::function<void(scan_problem&)>;
using lane_model = std::function<void(scan_lane&)>;

bool is_forward(const core::operation& op) { return op.is_forward(); }
bool takes_log_p(const core::operation& op) { return op.is_forward() && op.input("log_p") != nullptr; }
bool has_gates(const core::operation& op) { return op.is_forward() && op.input("log_p") == nullptr; }

hypothesis problem_hypothesis(std::string sentence, problem_model model,
                              bool (*applies)(const core::operation&) = is_forward) {
  return {std::move(sentence), applies,
          [model = std::move(model)](const request& call) { return forward_outputs(call, model); }};
}
hypothesis lane_hypothesis(std::string sentence, lane_model model,
                           bool (*applies)(const core::operation&) = is_forward) {
  return problem_hypothesis(
      std::move(sentence),
      [model = std::move(model)](scan_problem& p) { std::for_each(p.lanes.begin(), p.lanes.end(), model); }, applies);
}
hypothesis step_hypothesis(std::string sentence, scan_step next, bool (*applies)(const core::operation&) = is_forward) {
  return lane_hypothesis(
      std::move(sentence), [next](scan_lane& l) { scan_by(l, next); }, applies);
}
// The inputs of each lane are changed; the computation is right.
hypothesis input_hypothesis(std::string sentence, const std::function<void(scan_lane&)>& change,
                            bool (*applies)(const core::operation&) = is_forward) {
  return lane_hypothesis(
      std::move(sentence),
      [change](scan_lane& l) {
        change(l);
        right_scan(l);
      },
      applies);
}
// The states are right; the last one is changed.
hypothesis last_state_hypothesis(std::string sentence, double (*last)(const scan_lane&)) {
  return lane_hypothesis(std::move(sentence), [last](scan_lane& l) {
    right_scan(l);
    l.s_n = last(l);
  });
}

void add_hypotheses_of_initial_state(std::vector<hypothesis>& all) {
  all.push_back(input_hypothesis("the initial state is ignored", [](scan_lane& l) { l.s0 = 0.0; }));
  all.push_back(
      input_hypothesis("the initial state is taken for empty (-inf)", [](scan_lane& l) { l.s0 = -infinity; }));
  all.push_back(input_hypothesis("an initial state of -inf counts as 0",
                                 [](scan_lane& l) { l.s0 = std::isinf(l.s0) ? 0.0 : l.s0; }));
  all.push_back(input_hypothesis("the initial state is exponentiated: it is read as the logarithm of a state",
                                 [](scan_lane& l) { l.s0 = std::exp(l.s0); }));
  all.push_back(input_hypothesis("the initial state is put through the logarithm once more",
                                 [](scan_lane& l) { l.s0 = std::log(std::fabs(l.s0)); }));
  all.push_back(input_hypothesis("the initial state is put through softplus once more",
                                 [](scan_lane& l) { l.s0 = std::log1p(std::exp(l.s0)); }));
  all.push_back(input_hypothesis("the first token does not decay s0", [](scan_lane& l) {
    if (!l.a.empty()) l.a.front() = 0.0;
  }));
  all.push_back(problem_hypothesis("all batch rows start from the first row's state", [](scan_problem& p) {
    for (std::size_t k = 0; k < p.lanes.size(); ++k) p.lanes[k].s0 = p.lanes[k % p.features].s0;
    std::for_each(p.lanes.begin(), p.lanes.end(), right_scan);
  }));
}

void add_hypotheses_of_decay(std::vector<hypothesis>& all) {
  const auto change_decay = [](double (*f)(double)) {
    return [f](scan_lane& l) { std::transform(l.a.begin(), l.a.end(), l.a.begin(), f); };
  };
  all.push_back(input_hypothesis("the decay is ignored", change_decay([](double) { return 0.0; })));
  all.push_back(
      input_hypothesis("p is used where log p is expected", change_decay([](double a) { return std::exp(a); })));
  all.push_back(input_hypothesis("the decay has the wrong sign", change_decay([](double a) { return -a; })));
  all.push_back(input_hypothesis("log p is used where p is expected, and its logarithm taken again",
                                 change_decay([](double a) { return std::log(-a); }), takes_log_p));
  all.push_back(input_hypothesis("1 - p is used where p is expected",
                                 change_decay([](double a) { return std::log1p(-std::exp(a)); })));
  all.push_back(input_hypothesis("log p = 0 (no decay) forgets the state",
                                 change_decay([](double a) { return a >= 0.0 ? -infinity : a; })));
  all.push_back(problem_hypothesis(
      "the gate logits are used as log p, without log-sigmoid",
      [](scan_problem& p) {
        for (std::size_t k = 0; k < p.lanes.size(); ++k) {
          for (std::size_t i = 0; i < p.tokens; ++i) p.lanes[k].a[i] = p.gate(k / p.features, i, k % p.features);
          right_scan(p.lanes[k]);
        }
      },
      has_gates));
  all.push_back(input_hypothesis("the decay is that of the next token", [](scan_lane& l) {
    std::rotate(l.a.begin(), l.a.begin() + (l.a.empty() ? 0 : 1), l.a.end());
  }));
  all.push_back(input_hypothesis("the decay is that of the token before, and the first token does not decay s0",
                                 [](scan_lane& l) {
                                   if (!l.a.empty()) l.a.pop_back(), l.a.insert(l.a.begin(), 0.0);
                                 }));
  all.push_back(problem_hypothesis("features read one another's gates, in reverse order", [](scan_problem& p) {
    for (std::size_t b = 0; b < p.batch; ++b)
      for (std::size_t j = 0; 2 * j + 1 < p.features; ++j) std::swap(p.lane(b, j).a, p.lane(b, p.features - 1 - j).a);
    std::for_each(p.lanes.begin(), p.lanes.end(), right_scan);
  }));
  all.push_back(problem_hypothesis("all features use the first feature's gate", [](scan_problem& p) {
    for (std::size_t k = 0; k < p.lanes.size(); ++k) p.lanes[k].a = p.lanes[k / p.features * p.features].a;
    std::for_each(p.lanes.begin(), p.lanes.end(), right_scan);
  }));
  all.push_back(problem_hypothesis("all batch rows use the first row's gate", [](scan_problem& p) {
    for (std::size_t k = 0; k < p.lanes.size(); ++k) p.lanes[k].a = p.lanes[k % p.features].a;
    std::for_each(p.lanes.begin(), p.lanes.end(), right_scan);
  }));
}

void add_hypotheses_of_step(std::vector<hypothesis>& all) {
  all.push_back(step_hypothesis("the next state is built from the last input, not from the last state",
                                [](const scan_lane& l, std::size_t i, double state) {
                                  return log_add_exp(l.a[i] + (i == 0 ? state : l.h[i - 1]), l.h[i]);
                                }));
  all.push_back(step_hypothesis(
      "the larger term is taken for the logarithm of the sum (maximum for logaddexp)",
      [](const scan_lane& l, std::size_t i, double state) { return std::fmax(l.a[i] + state, l.h[i]); }));
  all.push_back(step_hypothesis(
      "the recurrence runs on values, s = p s + h, not on logarithms",
      [](const scan_lane& l, std::size_t i, double state) { return std::exp(l.a[i]) * state + l.h[i]; }));
  all.push_back(step_hypothesis(
      "the decay is applied to the input too",
      [](const scan_lane& l, std::size_t i, double state) { return l.a[i] + log_add_exp(state, l.h[i]); }));
  all.push_back(step_hypothesis(
      "the decay is applied to the input, not to the state",
      [](const scan_lane& l, std::size_t i, double state) { return log_add_exp(state, l.a[i] + l.h[i]); }));
  all.push_back(step_hypothesis("every state is the input alone: nothing is carried",
                                [](const scan_lane& l, std::size_t i, double) { return l.h[i]; }));
  all.push_back(lane_hypothesis("time runs backwards", [](scan_lane& l) {
    double state = l.s0;
    for (std::size_t i = l.s.size(); i-- > 0;) l.s[i] = state = log_add_exp(l.a[i] + state, l.h[i]);
    l.s_n = l.s.empty() ? l.s0 : l.s.back();
  }));
  const auto shift_late = [](scan_lane& l) {
    right_scan(l);
    if (!l.s.empty()) l.s.pop_back(), l.s.insert(l.s.begin(), l.s0);
  };
  all.push_back(lane_hypothesis("the scan is exclusive: every state is the one before its token", shift_late));
  all.push_back(lane_hypothesis("the scan is exclusive: every state is the one before its token, the last state too",
                                [shift_late](scan_lane& l) {
                                  shift_late(l);
                                  l.s_n = l.s.empty() ? l.s0 : l.s.back();
                                }));
  all.push_back(lane_hypothesis("the last token is not combined with the state", [](scan_lane& l) {
    right_scan(l);
    if (l.s.size() > 1) l.s_n = l.s.back() = l.h.back();
  }));
  all.push_back(step_hypothesis("a NaN input is dropped instead of reaching the state",
                                [](const scan_lane& l, std::size_t i, double state) {
                                  const double t = l.a[i] + state;
                                  const double m = std::fmax(t, l.h[i]);
                                  return log_add_exp(std::isnan(t) ? m : t, std::isnan(l.h[i]) ? m : l.h[i]);
                                }));
}

void add_hypotheses_of_last(std::vector<hypothesis>& all) {
  all.push_back(last_state_hypothesis("the returned state is not the last state but the one before it",
                                      [](const scan_lane& l) { return l.s.size() < 2 ? l.s_n : l.s[l.s.size() - 2]; }));
  all.push_back(last_state_hypothesis("the returned state is not the last state but the initial one",
                                      [](const scan_lane& l) { return l.s0; }));
  all.push_back(
      last_state_hypothesis("the returned state is not the last state but 0", [](const scan_lane&) { return 0.0; }));
  all.push_back(last_state_hypothesis("the returned state is not the last state but the first",
                                      [](const scan_lane& l) { return l.s.empty() ? l.s0 : l.s.front(); }));
  all.push_back(last_state_hypothesis("the returned state lacks the sum of log p", [](const scan_lane& l) {
    return l.s_n - std::accumulate(l.a.begin(), l.a.end(), 0.0);
  }));
}

}  // namespace

std::vector<hypothesis> state_hypotheses() {
  std::vector<hypothesis> all;
  add_hypotheses_of_initial_state(all);
  add_hypotheses_of_decay(all);
  add_hypotheses_of_step(all);
  add_hypotheses_of_last(all);
  return all;
}

}  // namespace assay::properties::encodings::heinsen
