#include "tools/gate/smoke.hpp"

#include <algorithm>
#include <cmath>

#include "properties/laws/laws.hpp"

namespace assay::tools {
namespace {

using properties::case_key;
using properties::counterexample;
using properties::fault;
using properties::test_case;

struct small_model {
  std::size_t features;  ///< features of a head
  std::size_t tokens = 8, heads = 8, rows = 2;
};

// The sizes of a first call. An axis of parameters whose size is a setting has the standard value of this setting.
core::axis_sizes sizes_of(const core::operation& op, const small_model& model) {
  using core::axis_role;
  const std::size_t features = model.features;
  core::axis_sizes sizes = core::sizes_by_role(op, {{axis_role::batch, model.rows},
                                                    {axis_role::token, model.tokens},
                                                    {axis_role::key, model.tokens},
                                                    {axis_role::head, model.heads},
                                                    {axis_role::width, features},
                                                    {axis_role::pairs, features / 2}});
  for (const core::attribute_declaration& a : op.attributes)
    if (!a.axis.empty() && core::role_of(op, a.axis) == axis_role::parameter)
      sizes[a.axis] = static_cast<std::size_t>(std::get<std::int64_t>(a.standard));
  return sizes;
}

std::vector<test_case> calls_to_try(const properties::description& about, const core::operation& op, core::dtype type,
                                    std::uint64_t seed) {
  std::vector<case_key> keys;
  for (const std::size_t features : {64u, 128u, 32u, 8u})
    keys.push_back(key_of_call(about, op, type, seed, sizes_of(op, {features})));
  constexpr std::uint64_t draws = 4;
  for (std::uint64_t k = 0; k < draws; ++k)
    for (const properties::extent& size : {properties::extent(properties::lengths::exactly, 3), properties::extent()})
      keys.push_back(properties::mild_key_for(about, op, type, seed + k, size));
  std::vector<test_case> all;
  for (auto key = keys.begin(); key != keys.end(); ++key)
    if (std::find(keys.begin(), key, *key) == key) all.push_back(properties::make_case(*key));
  std::erase_if(all, [&](const test_case& c) { return !within_domain(about, c); });
  return all;
}

std::ptrdiff_t widths_of(const core::tensor_declaration& d, const core::operation& op) {
  return std::ranges::count_if(
      d.axes, [&](const std::string& axis) { return core::role_of(op, axis) == core::axis_role::width; });
}

bool is_all_nan(const core::tensors& outputs) {
  std::size_t elements = 0;
  for (const auto& [name, t] : outputs)
    for (const double x : t.values.storage()) {
      if (!std::isnan(x)) return false;
      ++elements;
    }
  return elements > 0;
}

bool is_nan_flood(const first_calls& calls) { return !calls.lost->shown.failure; }

}  // namespace

std::vector<case_key> informative_calls(const properties::description& about, const core::operation& op,
                                        core::dtype type, std::uint64_t seed) {
  // An operation whose state is a matrix of two widths computes as many numbers as it has elements for each token.
  const auto& recurrent = reference::forward_of(op).recurrent;
  if (recurrent && widths_of(*op.input(recurrent->state_in), op) > 1)
    return {
        key_of_call(about, op, type, seed, sizes_of(op, {.features = 64, .tokens = 4, .heads = 2})),
        key_of_call(about, op, type, seed + 1, sizes_of(op, {.features = 16, .tokens = 69, .heads = 1, .rows = 1}))};
  return {key_of_call(about, op, type, seed, sizes_of(op, {.features = 64})),
          key_of_call(about, op, type, seed + 1, sizes_of(op, {.features = 64, .tokens = 69, .heads = 1, .rows = 1}))};
}

first_calls smoke(guarded_candidate& candidate, const core::operation& op, core::dtype type, std::uint64_t seed) {
  constexpr int most_ends = 2;
  const properties::description& about = candidate.describe();
  first_calls calls;
  int ends = 0;
  for (const test_case& c : calls_to_try(about, op, type, seed)) {
    const auto outputs = candidate.evaluate(c.call);
    if (!outputs && outputs.error().kind == fault::unsupported) continue;
    ++calls.made;
    calls.answered = outputs && !is_all_nan(*outputs);
    if (calls.answered) return calls;
    if (!calls.lost || (outputs && !is_nan_flood(calls)))
      calls.lost =
          counterexample{c, c, outputs ? judged(about, c.call, *outputs) : properties::no_outputs(outputs.error())};
    if (outputs || !ends_the_program(outputs.error().kind)) continue;
    if (outputs.error().kind == fault::timed_out || ++ends == most_ends || candidate.part_is_over()) break;
  }
  return calls;
}

adapter_fault fault_of_part(const first_calls& calls, const core::operation& op, core::dtype type) {
  const std::string on = summary(calls.lost->original);
  adapter_fault f = is_nan_flood(calls)
                        ? adapter_fault{&op, type, nan_flood, "NaN flood", "every element of every output is NaN", on}
                        : fault_of(*calls.lost->shown.failure, &op, type, on);
  f.calls = calls.made;
  return f;
}

properties::check_result check_of_part(const first_calls& calls, const core::operation& op, core::dtype type) {
  properties::check_result r;
  const auto& all = properties::properties();
  r.checked = &*std::find_if(all.begin(), all.end(),
                             [&](const properties::property& p) { return p.decides_class && p.applies(op); });
  r.operation = &op;
  r.type = type;
  r.planned = calls.made;
  record_case(r, calls.lost->original, calls.lost->shown);
  if (calls.lost->shown.value) r.worst = calls.lost->shown.value->worst;
  r.worst_case = summary(calls.lost->original);
  r.found = calls.lost;
  return r;
}

}  // namespace assay::tools
