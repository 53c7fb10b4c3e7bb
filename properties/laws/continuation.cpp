// Continuation is checked by composition: the first chunk must be right, and the second must be right from
// the state that the first one really returned. No allowance beyond those of the two calls is needed, and
// with the exact recurrence between them the whole sequence is right.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "properties/laws/laws.hpp"

namespace assay::properties {
namespace {

core::tensors tokens(const test_case& c, std::size_t first, std::size_t last) {
  std::vector<std::size_t> kept(last - first);
  std::iota(kept.begin(), kept.end(), first);
  return core::restrict_axis(*c.call.operation, c.call.inputs, c.call.operation->recurrent->time_axis, kept);
}

std::size_t length(const test_case& c) { return sizes_of(c).at(c.call.operation->recurrent->time_axis); }

// Every split of a short sequence; of a longer one both ends, the middle and two others.
std::set<std::size_t> splits(std::size_t n, std::uint64_t seed) {
  std::set<std::size_t> all{0, n, n / 2, std::min<std::size_t>(1, n), n - std::min<std::size_t>(1, n)};
  for (std::size_t m = 0; n <= 9 && m <= n; ++m) all.insert(m);
  core::counter_random random(seed);
  for (int k = 0; k < 2; ++k) all.insert(random.below(n + 1));
  return all;
}

// Runs one chunk, judges it and hands its state on.
outcome run_chunk(implementation& under_test, const test_case& c, core::tensors inputs, core::tensor& state) {
  const core::recurrence& r = *c.call.operation->recurrent;
  inputs.at(r.state_in) = state;
  test_case chunk = c;
  chunk.call.inputs = std::move(inputs);
  // The state that was handed on may lie outside what the candidate declares.
  if (!within_domain(under_test.describe(), chunk)) return {status::outside_domain};
  const request& call = chunk.call;
  const call_result outputs = under_test.evaluate(call);
  if (!outputs) return no_outputs(outputs.error());
  outcome o;
  const expectation expected = expect(call, under_test.describe().compute_dtype(call.type));
  o.value = judge(expected, *outputs);
  state = outputs->at(r.state_out);
  if (o.value->passed) return {};
  o.verdict = status::failed;
  o.message = o.value->message;
  for (const auto& [name, truth] : expected.truth) o.expected.emplace(name, truth.rounded);
  o.actual = *outputs;
  return o;
}

outcome check_splits(implementation& under_test, const test_case& c) {
  if (!within_domain(under_test.describe(), c)) return {status::outside_domain};
  const std::size_t n = length(c);
  for (const std::size_t m : splits(n, c.seed)) {
    core::tensor state = c.call.inputs.at(c.call.operation->recurrent->state_in);
    for (const auto& [first, last] : {std::pair{std::size_t{0}, m}, std::pair{m, n}}) {
      outcome o = run_chunk(under_test, c, tokens(c, first, last), state);
      if (o.verdict == status::passed) continue;
      o.message = fmt::format("tokens [{}, {}) of a sequence split at {}: {}", first, last, m, o.message);
      return o;
    }
  }
  return {n == 0 ? status::uninformative : status::passed};
}

outcome check_steps(implementation& under_test, const test_case& c) {
  if (!within_domain(under_test.describe(), c)) return {status::outside_domain};
  const core::recurrence& r = *c.call.operation->recurrent;
  const std::size_t n = std::min<std::size_t>(length(c), 8);
  const request whole = with_inputs(c.call, tokens(c, 0, n));
  const call_result scan = under_test.evaluate(whole);
  if (!scan) return no_outputs(scan.error());
  core::tensor state = c.call.inputs.at(r.state_in);
  const expectation expected = expect(whole, under_test.describe().compute_dtype(c.call.type));
  // The map from state to state does not expand, so the errors of the steps at most add up.
  std::vector<double> step_errors(state.size(), 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    test_case step = c;
    step.call.inputs = tokens(c, i, i + 1);
    step.call.inputs.at(r.state_in) = state;
    const expectation one = expect(step.call, expected.compute);
    outcome o = run_chunk(under_test, c, step.call.inputs, state);
    if (o.verdict != status::passed) {
      o.message = fmt::format("token {} on its own: {}", i + 1, o.message);
      return o;
    }
    const auto& k = one.allowed.at(r.state_out).k.back().storage();
    for (std::size_t j = 0; j < k.size(); ++j)
      step_errors[j] += bug_slack * core::unit_roundoff(one.compute) * k[j] +
                        core::half_ulp(one.storage, one.truth.at(r.state_out).truth(j));
  }
  const core::tensor& last = scan->at(r.state_out);
  const auto& k = expected.allowed.at(r.state_out).k.back().storage();
  for (std::size_t j = 0; j < last.size(); ++j) {
    const double x = last.values.storage()[j], y = state.values.storage()[j];
    const double allowed =
        step_errors[j] + bug_slack * core::unit_roundoff(expected.compute) * k[j] + core::half_ulp(expected.storage, x);
    if (core::same_value(x, y) || std::fabs(x - y) <= allowed) continue;
    outcome o{status::failed, fmt::format("lane {}: the scan ends in {:a}, step by step it ends in {:a} ({:.9g} and "
                                          "{:.9g}), allowed {:.3g}",
                                          j, x, y, x, y, allowed)};
    o.expected = {{r.state_out, state}};
    o.actual = {{r.state_out, last}};
    return o;
  }
  return {n == 0 ? status::uninformative : status::passed};
}

bool is_recurrent(const core::operation& op) { return op.recurrent.has_value(); }

}  // namespace

property continuation_property() {
  return {"continuation", "a sequence split anywhere and continued from the returned state",
          is_recurrent,   check_splits,
          false,          8};
}
property recurrence_property() {
  return {"recurrence", "a scan of n tokens equals n steps of one token", is_recurrent, check_steps, false, 8};
}

}  // namespace assay::properties
