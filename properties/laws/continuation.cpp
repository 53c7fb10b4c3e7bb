// Continuation is checked by composition: each chunk must be right from the state that the previous chunk really
// returned. No allowance beyond those of the calls is needed, and with the exact recurrence between them the whole
// sequence is right.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "properties/laws/laws.hpp"
#include "properties/laws/relations/relations.hpp"

namespace assay::properties {
namespace {

std::size_t length(const test_case& c) { return sizes_of(c).at(c.call.operation->recurrent->time_axis); }

using chunk_ends = std::set<std::vector<std::size_t>>;

// Divisions of a sequence, each as the ends of its chunks. A short sequence is split in two at every place; a longer
// one at both ends, in the middle and at up to two other places. One more division has many chunks, some of a single
// token.
chunk_ends divisions(std::size_t n, std::uint64_t seed) {
  chunk_ends all;
  if (n < 2) return {{n}};
  const auto in_two = [&](std::size_t m) { all.insert({m, n}); };
  for (const std::size_t m : {n / 2, std::size_t{1}, n - 1}) in_two(m);
  for (std::size_t m = 1; n <= 9 && m < n; ++m) in_two(m);
  core::counter_random random(seed);
  for (int k = 0; k < 2; ++k) in_two(1 + random.below(n - 1));
  std::vector<std::size_t> many;
  for (std::size_t end = 0; many.size() < 8 && end < n; end = many.back())
    many.push_back(std::min(n, end + 1 + random.below(4)));
  if (many.back() != n) many.push_back(n);
  all.insert(std::move(many));
  return all;
}

// Divisions into chunks of declared sizes, counted in their unit.
chunk_ends divisions_into(const declared_sizes& sizes, std::size_t n, std::uint64_t seed) {
  chunk_ends all;
  for (std::vector<std::size_t> ends : divisions(n / sizes.multiple_of, seed)) {
    for (std::size_t& end : ends) end *= sizes.multiple_of;
    std::size_t first = 0;
    if (std::all_of(ends.begin(), ends.end(),
                    [&](std::size_t end) { return sizes.holds(end - std::exchange(first, end)); }))
      all.insert(std::move(ends));
  }
  return all;
}

// The state after a chunk that begins in the given state: each chunk must be right.
const core::tensor& state_after(experiment& e, core::tensors inputs, const core::tensor& state) {
  const core::recurrence& r = *e.c.call.operation->recurrent;
  inputs.at(r.state_in) = state;
  // The state that was passed on may lie outside the domain that the candidate declares.
  return e.right_call(with_inputs(e.c, std::move(inputs))).outputs.at(r.state_out);
}

void check_continuation(experiment& e) {
  e.needs_domain(e.c);
  const core::operation& op = *e.c.call.operation;
  const chunk_ends all = divisions_into(e.about().sizes_of_axis(op, op.recurrent->time_axis), length(e.c), e.c.seed);
  if (all.empty()) throw experiment::ended{{status::outside_domain}};
  for (const std::vector<std::size_t>& ends : all) {
    core::tensor state = e.c.call.inputs.at(op.recurrent->state_in);
    std::size_t first = 0;
    for (const std::size_t end : ends) {
      e.during(fmt::format("tokens [{}, {}) of a sequence in chunks that end at {}", first, end, core::to_string(ends)),
               [&] { state = state_after(e, tokens_of(e.c, first, end), state); });
      first = end;
    }
  }
}

// The allowance of each number; if a step mixes numbers along an axis, the norm of their allowances.
std::vector<double> mixed_along(const std::string& symbol, const core::tensor_declaration& state, const numbers& x) {
  if (symbol.empty()) return x.allowed;
  const std::size_t axis = *core::axis_of(state, symbol), size = x.shape[axis], step = core::stride_of(x.shape, axis);
  std::vector<double> squares(x.size(), 0.0), norms(x.size());
  const auto first_of = [&](std::size_t k) { return k - k / step % size * step; };
  for (std::size_t k = 0; k < x.size(); ++k) squares[first_of(k)] += x.allowed[k] * x.allowed[k];
  for (std::size_t k = 0; k < x.size(); ++k) norms[k] = std::sqrt(squares[first_of(k)]);
  return norms;
}

// Compares the last state of the scan with that of the single steps, each wrong by at most its allowance.
void check_steps(experiment& e) {
  const core::recurrence& r = *e.c.call.operation->recurrent;
  const std::size_t n = std::min<std::size_t>(length(e.c), 8);
  const numbers scan(e.call(with_inputs(e.c, tokens_of(e.c, 0, n))), r.state_out);
  core::tensor state = e.c.call.inputs.at(r.state_in);
  // The map from state to state does not expand, so the errors of the steps at most add up: number by number, or as
  // norms if a step mixes numbers.
  std::vector<double> errors(state.size(), 0.0);
  for (std::size_t i = 0; i < n; ++i)
    e.during(fmt::format("token {} on its own", i + 1), [&] {
      core::tensors step = tokens_of(e.c, i, i + 1);
      step.at(r.state_in) = state;
      const numbers after(e.right_call(with_inputs(e.c, std::move(step))), r.state_out);
      const std::vector<double> allowed = mixed_along(r.mixes_along, *e.c.call.operation->output(r.state_out), after);
      for (std::size_t j = 0; j < errors.size(); ++j) {
        errors[j] += allowed[j];
        state.values.storage()[j] = after.x[j];
      }
    });
  for (std::size_t j = 0; j < errors.size(); ++j)
    e.equal(scan[j], {state.values.storage()[j], errors[j]}, "lane {}: where the scan ends, and where the steps end",
            j);
}

bool is_recurrent(const core::operation& op) { return op.recurrent.has_value(); }

}  // namespace

property continuation_property() {
  return law("continuation", "a sequence in chunks, single tokens too, each continued from the returned state",
             {.with = is_recurrent}, {8, check_continuation});
}
property recurrence_property() {
  return law("recurrence", "a scan of n tokens equals n steps of one token", {.with = is_recurrent}, {8, check_steps});
}

}  // namespace assay::properties
