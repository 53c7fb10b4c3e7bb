// Continuation is checked by composition: each chunk must be right from the state that the one before it
// really returned. No allowance beyond those of the calls is needed, and with the exact recurrence between
// them the whole sequence is right.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "properties/laws/laws.hpp"
#include "properties/laws/measured.hpp"

namespace assay::properties {
namespace {

std::size_t length(const test_case& c) { return sizes_of(c).at(c.call.operation->recurrent->time_axis); }

// The ends of the chunks: every split in two of a short sequence; of a longer one both ends, the middle and
// two others; and one division into many chunks, empty ones and single tokens among them.
std::set<std::vector<std::size_t>> divisions(std::size_t n, std::uint64_t seed) {
  std::set<std::vector<std::size_t>> all;
  const auto in_two = [&](std::size_t m) { all.insert({m, n}); };
  for (const std::size_t m : {std::size_t{0}, n, n / 2, std::min<std::size_t>(1, n), n - std::min<std::size_t>(1, n)})
    in_two(m);
  for (std::size_t m = 0; n <= 9 && m <= n; ++m) in_two(m);
  core::counter_random random(seed);
  for (int k = 0; k < 2; ++k) in_two(random.below(n + 1));
  std::vector<std::size_t> many;
  for (std::size_t end = 0; many.size() < 8 && end < n; end = many.back())
    many.push_back(std::min(n, end + random.below(5)));
  many.push_back(n);
  all.insert(std::move(many));
  return all;
}

// Runs one chunk, judges it and hands its state on.
outcome run_chunk(implementation& under_test, const test_case& c, core::tensors inputs, core::tensor& state) {
  const core::recurrence& r = *c.call.operation->recurrent;
  inputs.at(r.state_in) = state;
  const test_case chunk = with_inputs(c, std::move(inputs));
  // The state that was handed on may lie outside what the candidate declares.
  if (!within_domain(under_test.describe(), chunk)) return {status::outside_domain};
  auto [result, outputs] = judge_call(under_test, chunk.call);
  if (!result.failure) state = outputs.at(r.state_out);
  return result;
}

outcome check_continuation(implementation& under_test, const test_case& c) {
  if (!within_domain(under_test.describe(), c)) return {status::outside_domain};
  const std::size_t n = length(c);
  outcome all{status::uninformative};
  for (const std::vector<std::size_t>& ends : divisions(n, c.seed)) {
    core::tensor state = c.call.inputs.at(c.call.operation->recurrent->state_in);
    std::size_t first = 0;
    for (const std::size_t end : ends) {
      outcome o = run_chunk(under_test, c, tokens_of(c, first, end), state);
      if (o.verdict == status::passed) all = {};
      if (o.verdict != status::passed && o.verdict != status::uninformative) {
        o.message = fmt::format("tokens [{}, {}) of a sequence in chunks that end at {}: {}", first, end,
                                core::to_string(ends), o.message);
        return o;
      }
      first = end;
    }
  }
  return all;
}

// The state that the scan ends in and the one that the steps end in, each wrong by at most its allowance.
outcome compare_ends(const test_case& c, const measured_call& scan, const core::tensor& state,
                     const std::vector<double>& step_errors) {
  const core::recurrence& r = *c.call.operation->recurrent;
  const core::tensor& last = scan.outputs.at(r.state_out);
  for (std::size_t j = 0; j < last.size(); ++j) {
    const double x = last.values.storage()[j], y = state.values.storage()[j];
    const double allowed = step_errors[j] + scan.allowed.at(r.state_out)[j];
    if (core::same_value(x, y) || std::fabs(x - y) <= allowed) continue;
    return violated(fmt::format("lane {}: the scan ends in {:a}, step by step it ends in {:a} ({:.9g} and {:.9g}), "
                                "allowed {:.3g}",
                                j, x, y, x, y, allowed),
                    {{r.state_out, state}}, {{r.state_out, last}});
  }
  return {};
}

outcome check_steps(implementation& under_test, const test_case& c) {
  const core::recurrence& r = *c.call.operation->recurrent;
  const std::size_t n = std::min<std::size_t>(length(c), 8);
  const auto scan = measure(under_test, with_inputs(c, tokens_of(c, 0, n)));
  if (!scan) return scan.error();
  core::tensor state = c.call.inputs.at(r.state_in);
  const core::dtype compute = under_test.describe().compute_dtype(c.call.type);
  // The map from state to state does not expand, so the errors of the steps at most add up.
  std::vector<double> step_errors(state.size(), 0.0);
  outcome all{status::uninformative};
  for (std::size_t i = 0; i < n; ++i) {
    core::tensors step = tokens_of(c, i, i + 1);
    step.at(r.state_in) = state;
    const auto allowed = allowances_of({c.call.operation, c.call.type, step, c.call.attributes}, compute);
    outcome o = run_chunk(under_test, c, std::move(step), state);
    if (o.verdict == status::passed) all = {};
    if (o.verdict != status::passed && o.verdict != status::uninformative) {
      o.message = fmt::format("token {} on its own: {}", i + 1, o.message);
      return o;
    }
    const auto& k = allowed->at(r.state_out).k.back().storage();
    for (std::size_t j = 0; j < k.size(); ++j)
      step_errors[j] += allowed_error(c.call.type, compute, k[j], state.values.storage()[j]);
  }
  const outcome ends = compare_ends(c, *scan, state, step_errors);
  return ends.verdict == status::failed ? ends : all;
}

bool is_recurrent(const core::operation& op) { return op.recurrent.has_value(); }

}  // namespace

property continuation_property() {
  return {"continuation", "a sequence in chunks, empty and single ones too, each continued from the returned state",
          is_recurrent,   check_continuation,
          false,          8};
}
property recurrence_property() {
  return {"recurrence", "a scan of n tokens equals n steps of one token", is_recurrent, check_steps, false, 8};
}

}  // namespace assay::properties
