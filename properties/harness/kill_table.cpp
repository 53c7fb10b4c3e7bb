#include "properties/harness/kill_table.hpp"

#include <algorithm>
#include <memory>
#include <tuple>

#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

kill record(const variant& mutant, check_result r) {
  kill k;
  k.by = r.checked;
  k.operation = r.operation;
  k.cases = r.run();
  k.found = std::move(*r.found);
  const core::axis_sizes sizes = sizes_of(k.found.minimal);
  const auto size_with = [&](core::axis_role role) { return core::size_with(*k.operation, sizes, role); };
  k.tokens = size_with(core::axis_role::token);
  k.lanes = size_with(core::axis_role::batch) * size_with(core::axis_role::width);
  k.repeats = r.checked->check(*mutant.make(), k.found.minimal).verdict == status::failed;
  return k;
}

run_options running_by(const trial_options& options, bool long_lengths) {
  run_options running;
  running.seed = options.seed;
  running.cases = options.cases;
  running.shrink_calls = options.shrink_calls;
  running.long_lengths = long_lengths;
  return running;
}

// Tries one mutant with one property of one operation.
void try_property(trial& t, implementation& under_test, const core::operation& op, const property& p,
                  const trial_options& options) {
  if (t.kills.size() >= options.enough || !under_test.describe().offers(op.name, t.type)) return;
  if (!is_checked(p, op, under_test.describe())) return;
  check_result r = run_property(p, under_test, op, t.type, running_by(options, false));
  t.checks += r.verdict() == status::passed || r.verdict() == status::failed;
  if (r.verdict() == status::failed) t.kills.push_back(record(t.mutant, std::move(r)));
}

}  // namespace

std::vector<trial> try_mutants(const std::vector<variant>& mutants, const trial_options& options,
                               const std::function<void(const core::operation&)>& done) {
  std::vector<trial> trials;
  std::vector<std::unique_ptr<implementation>> under_test;
  for (const variant& m : mutants) {
    trials.push_back({m, options.type.value_or(m.shown_in)});
    under_test.push_back(m.make());
  }
  // The loop over mutants is innermost: they get the same cases, whose truths and laws are remembered for a while.
  for (const core::operation& op : reference::operations()) {
    for (const property& p : properties())
      for (std::size_t k = 0; k < trials.size(); ++k) try_property(trials[k], *under_test[k], op, p, options);
    done(op);
  }
  return trials;
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

bool is_idle(const property& p, const std::vector<variant>& mutants, const trial_options& options) {
  return std::none_of(mutants.begin(), mutants.end(), [&](const variant& m) {
    trial alone{m, options.type.value_or(m.shown_in)};
    const auto under_test = m.make();
    const auto& all = reference::operations();
    return std::any_of(all.begin(), all.end(), [&](const core::operation& op) {
      try_property(alone, *under_test, op, p, options);
      return !alone.kills.empty();
    });
  });
}

pinned_classes classes_of(implementation& right, core::dtype type, const trial_options& options) {
  pinned_classes classes;
  for (const core::operation& op : reference::operations())
    for (const property& p : properties())
      if (p.decides_class && is_checked(p, op, right.describe()) && right.describe().offers(op.name, type))
        if (const auto c = run_property(p, right, op, type, running_by(options, true)).explaining_class())
          classes[op.name] = *c;
  return classes;
}

std::optional<capture> first_capture(const variant& mutant, const trial_options& options,
                                     const pinned_classes& pinned) {
  const auto under_test = mutant.make();
  const core::dtype type = options.type.value_or(mutant.shown_in);
  const run_options running = running_by(options, true);
  // The checks against the truth come first, for all operations: they catch most.
  for (const bool against_truth : {true, false})
    for (const core::operation& op : reference::operations()) {
      if (!under_test->describe().offers(op.name, type)) continue;
      for (const property& p : properties()) {
        if (p.decides_class != against_truth || !is_checked(p, op, under_test->describe())) continue;
        const check_result r = run_property(p, *under_test, op, type, running);
        if (r.verdict() == status::failed) return capture{&p, &op, r.run(), false};
        const auto pin = pinned.find(op.name);
        if (const auto c = r.explaining_class(); c && pin != pinned.end() && *c > pin->second)
          return capture{&p, &op, r.run(), true};
      }
    }
  return std::nullopt;
}

}  // namespace assay::properties
