#include "properties/support/kill_table.hpp"

#include <algorithm>
#include <tuple>

#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

std::size_t size_or_one(const core::axis_sizes& sizes, const char* axis) {
  const auto it = sizes.find(axis);
  return it == sizes.end() ? 1 : it->second;
}

kill record(const variant& mutant, check_result r) {
  kill k;
  k.by = r.checked;
  k.operation = r.operation;
  k.cases = r.run();
  k.found = std::move(*r.found);
  const core::axis_sizes sizes = sizes_of(k.found.minimal);
  k.tokens = size_or_one(sizes, "n");
  k.lanes = size_or_one(sizes, "B") * size_or_one(sizes, "d");
  k.repeats = r.checked->check(*mutant.make(), k.found.minimal).verdict == status::failed;
  return k;
}

}  // namespace

trial try_mutant(const variant& mutant, const trial_options& options) {
  trial t{mutant, options.type.value_or(mutant.shown_in)};
  run_options running;
  running.seed = options.seed;
  running.cases = options.cases;
  running.shrink_calls = options.shrink_calls;
  running.long_lengths = false;
  const auto under_test = mutant.make();
  for (const core::operation& op : reference::operations())
    for (check_result& r : run_properties(*under_test, op, t.type, running)) {
      t.checks += r.verdict() == status::passed || r.verdict() == status::failed;
      if (r.verdict() == status::failed) t.kills.push_back(record(mutant, std::move(r)));
    }
  return t;
}

std::optional<smallest_case> smallest(const trial& t) {
  std::optional<smallest_case> best;
  for (const kill& k : t.kills)
    if (k.repeats && (!best || std::tie(k.tokens, k.lanes) < std::tie(best->tokens, best->lanes)))
      best = smallest_case{k.tokens, k.lanes};
  return best;
}

std::vector<const property*> idle_properties(const std::vector<trial>& trials) {
  std::vector<const property*> idle;
  for (const property& p : properties()) {
    const auto kills_in = [&](const trial& t) {
      return std::any_of(t.kills.begin(), t.kills.end(), [&](const kill& k) { return k.by == &p; });
    };
    if (std::none_of(trials.begin(), trials.end(), kills_in)) idle.push_back(&p);
  }
  return idle;
}

}  // namespace assay::properties
