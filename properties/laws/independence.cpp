// What an output may not depend on: later tokens, other rows and features, an earlier call.
#include <algorithm>
#include <limits>
#include <numeric>

#include "properties/laws/laws.hpp"

namespace assay::properties {
namespace {

// Whether the implementation takes any value in any input of the operation.
bool takes_nan(const description& about, const core::operation& op) {
  return op.is_forward() && about.domain.find(op.name) == about.domain.end();
}

// Replaces everything at the given positions of an axis: by NaN, or by what stands at mirrored positions.
core::tensors overwrite(const core::operation& op, const core::tensors& inputs, const std::string& symbol,
                        const std::vector<bool>& overwritten, bool with_nan) {
  const std::size_t size = overwritten.size();
  std::vector<std::size_t> from(size);
  for (std::size_t i = 0; i < size; ++i) from[i] = overwritten[i] ? size - 1 - i : i;
  core::tensors out = core::restrict_axis(op, inputs, symbol, from);
  if (!with_nan) return out;
  for (const auto& d : op.inputs) {
    const auto axis = core::axis_of(d, symbol);
    if (!axis) continue;
    core::tensor& t = out.at(d.name);
    const core::shape s = t.shape();
    const std::size_t inner = core::element_count({s.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, s.end()});
    for (std::size_t i = 0; i < t.size(); ++i)
      if (overwritten[(i / inner) % size]) t.values.storage()[i] = std::numeric_limits<double>::quiet_NaN();
  }
  return out;
}

// The part of the outputs at the untouched positions of an axis; outputs without that axis are left out.
core::tensors untouched(const core::operation& op, const core::tensors& outputs, const std::string& symbol,
                        const std::vector<bool>& overwritten) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < overwritten.size(); ++i)
    if (!overwritten[i]) kept.push_back(i);
  core::tensors out;
  for (const auto& d : op.outputs)
    if (const auto axis = core::axis_of(d, symbol)) out.emplace(d.name, core::take(outputs.at(d.name), *axis, kept));
  return out;
}

outcome unaffected(implementation& under_test, const test_case& c, const std::string& symbol,
                   const std::vector<bool>& overwritten, const std::string& what) {
  const core::operation& op = *c.call.operation;
  const call_result before = under_test.evaluate(c.call);
  if (!before) return no_outputs(before.error());
  for (const bool with_nan : {false, true}) {
    if (with_nan && !takes_nan(under_test.describe(), op)) continue;
    test_case edited = c;
    edited.call.inputs = overwrite(op, c.call.inputs, symbol, overwritten, with_nan);
    if (!with_nan && !within_domain(under_test.describe(), edited)) continue;
    const call_result after = under_test.evaluate(edited.call);
    if (!after) return no_outputs(after.error());
    outcome o = compare_bits(untouched(op, *before, symbol, overwritten), untouched(op, *after, symbol, overwritten),
                             what + (with_nan ? " set to NaN" : " changed"));
    if (o.verdict == status::failed) return o;
  }
  return {};
}

outcome check_causality(implementation& under_test, const test_case& c) {
  if (!within_domain(under_test.describe(), c)) return {status::outside_domain};
  const std::string& axis = c.call.operation->recurrent->time_axis;
  const std::size_t n = sizes_of(c).at(axis);
  if (n < 2) return {status::uninformative};
  const std::size_t first = 1 + core::counter_random(c.seed).below(n - 1);
  std::vector<bool> later(n);
  for (std::size_t i = first; i < n; ++i) later[i] = true;
  return unaffected(under_test, c, axis, later, "tokens from " + std::to_string(first + 1) + " on");
}

// Rows never mix; features mix wherever some tensor is without them.
bool features_are_independent(const core::operation& op) {
  const auto has_d = [](const core::tensor_declaration& d) { return core::axis_of(d, "d").has_value(); };
  return std::all_of(op.inputs.begin(), op.inputs.end(), has_d) &&
         std::all_of(op.outputs.begin(), op.outputs.end(), has_d);
}

outcome check_lanes(implementation& under_test, const test_case& c) {
  if (!within_domain(under_test.describe(), c)) return {status::outside_domain};
  outcome o{status::uninformative};
  for (const char* axis : {"B", "d"}) {
    if (*axis == 'd' && !features_are_independent(*c.call.operation)) continue;
    const std::size_t size = sizes_of(c).at(axis);
    if (size < 2) continue;
    std::vector<bool> others(size, true);
    others[core::counter_random(c.seed).below(size)] = false;
    o = unaffected(under_test, c, axis, others, *axis == 'B' ? "the other batch rows" : "the other features");
    if (o.verdict != status::passed) return o;
  }
  return o;
}

outcome check_repeat(implementation& under_test, const test_case& c) {
  if (!within_domain(under_test.describe(), c)) return {status::outside_domain};
  const call_result first = under_test.evaluate(c.call);
  if (!first) return no_outputs(first.error());
  const call_result second = under_test.evaluate(c.call);
  if (!second) return no_outputs(second.error());
  if (under_test.describe().deterministic) return compare_bits(*first, *second, "the same call again");
  const expectation expected = expect(c.call, under_test.describe().compute_dtype(c.call.type));
  const value_report again = judge(expected, *second);
  return again.passed ? outcome{} : outcome{status::failed, "the same call again: " + again.message};
}

bool has_rows(const core::operation& op) {
  return std::any_of(op.outputs.begin(), op.outputs.end(),
                     [](const auto& d) { return core::axis_of(d, "B").has_value(); });
}

}  // namespace

property causality_property() {
  return {"causality",
          "outputs before a token do not depend on it",
          [](const core::operation& op) { return op.recurrent.has_value(); },
          check_causality,
          false,
          3};
}
property lane_property() {
  return {"lanes", "batch rows and features do not influence one another", has_rows, check_lanes, false, 3};
}
property repeat_property() {
  return {"repeat",
          "the same call gives the same outputs",
          [](const core::operation&) { return true; },
          check_repeat,
          false,
          2};
}

}  // namespace assay::properties
