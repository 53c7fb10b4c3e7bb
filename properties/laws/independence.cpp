// What an output may not depend on: later tokens, other rows and features, an earlier call.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

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
    if (!axis || d.own_type) continue;
    core::tensor& t = out.at(d.name);
    const core::shape s = t.shape();
    const std::size_t inner = core::stride_of(s, *axis);
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

// Whether anything was really overwritten: equal values in its place would prove nothing.
bool differs(const core::tensors& a, const core::tensors& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& x) { return !core::identical(x.second, b.at(x.first)); });
}

// Compares what must not have changed: bit by bit, and where bits differ, within the errors allowed to the call. That
// equal calls give equal bits does not mean that other calls do: vectorised functions of a library may take another
// path where one lane is a NaN (PyTorch's cosine does).
outcome compare_untouched(const description& about, const test_case& c, const std::string& symbol,
                          const std::vector<bool>& overwritten, const core::tensors& before, const core::tensors& after,
                          const std::string& what) {
  const core::operation& op = *c.call.operation;
  outcome o = compare_bits(untouched(op, before, symbol, overwritten), untouched(op, after, symbol, overwritten), what);
  if (o.verdict != status::failed) return o;
  const auto expected = expect(c.call, about.compute_dtype(c.call.type));
  core::tensors mixed = before;
  for (const auto& d : op.outputs) {
    const auto axis = core::axis_of(d, symbol);
    if (!axis) continue;
    core::tensor& t = mixed.at(d.name);
    const std::size_t inner = core::stride_of(t.shape(), *axis);
    for (std::size_t i = 0; i < t.size(); ++i)
      if (!overwritten[(i / inner) % overwritten.size()]) t.values.storage()[i] = after.at(d.name).values.storage()[i];
  }
  const value_report report = judge(*expected, mixed);
  return report.passed ? outcome{} : outcome{status::failed, what + ": " + report.message};
}

outcome unaffected(implementation& under_test, const test_case& c, const std::string& symbol,
                   const std::vector<bool>& overwritten, const std::string& what) {
  const core::operation& op = *c.call.operation;
  const call_result before = under_test.evaluate(c.call);
  if (!before) return no_outputs(before.error());
  outcome compared{status::uninformative};
  for (const bool with_nan : {false, true}) {
    if (with_nan && !takes_nan(under_test.describe(), op)) continue;
    test_case edited = c;
    edited.call.inputs = overwrite(op, c.call.inputs, symbol, overwritten, with_nan);
    if (!differs(c.call.inputs, edited.call.inputs)) continue;
    if (!with_nan && !within_domain(under_test.describe(), edited)) continue;
    const call_result after = under_test.evaluate(edited.call);
    if (!after) return no_outputs(after.error());
    compared = compare_untouched(under_test.describe(), c, symbol, overwritten, *before, *after,
                                 what + (with_nan ? " set to NaN" : " changed"));
    if (compared.verdict == status::failed) return compared;
  }
  return compared;
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

outcome check_lanes(implementation& under_test, const test_case& c) {
  if (!within_domain(under_test.describe(), c)) return {status::outside_domain};
  outcome all{status::uninformative};
  for (const std::string& axis : c.call.operation->independent) {
    const std::size_t size = sizes_of(c).at(axis);
    if (size < 2) continue;
    std::vector<bool> others(size, true);
    others[core::counter_random(c.seed).below(size)] = false;
    outcome o = unaffected(under_test, c, axis, others, "the other positions of axis " + axis);
    if (o.verdict == status::passed) all = o;
    if (o.verdict != status::passed && o.verdict != status::uninformative) return o;
  }
  return all;
}

// The same inputs twice over along the axis of tokens, where there is one, and every number among the settings as large
// as it may be.
std::optional<test_case> larger_case(const description& about, const test_case& c) {
  const core::operation& op = *c.call.operation;
  test_case larger = c;
  larger.call.attributes = core::completed(op, c.call.attributes);
  const auto& narrowed = about.settings_of(op);
  for (const core::attribute_declaration& a : op.attributes) {
    const auto own = narrowed.find(a.name);
    for (const core::attribute& value : own == narrowed.end() ? a.values : own->second)
      if (std::holds_alternative<double>(value) && value > larger.call.attributes.at(a.name))
        larger.call.attributes[a.name] = value;
  }
  const core::axis_sizes sizes = sizes_of(c);
  if (const auto tokens = sizes.find("n"); tokens != sizes.end()) {
    std::vector<std::size_t> twice(2 * tokens->second);
    for (std::size_t i = 0; i < twice.size(); ++i) twice[i] = i % tokens->second;
    larger.call.inputs = core::restrict_axis(op, c.call.inputs, "n", twice);
  }
  if (!core::check_request(larger.call) || !within_domain(about, larger)) return std::nullopt;
  return larger;
}

std::optional<test_case> smaller_case(const description& about, const test_case& c) {
  for (test_case& other : simpler_cases(c))
    if (within_domain(about, other)) return std::move(other);
  return std::nullopt;
}

// The same call again: nothing may be remembered.
outcome check_again(implementation& under_test, const test_case& c, const core::tensors& first,
                    const std::string& what) {
  const call_result again = under_test.evaluate(c.call);
  if (!again) return no_outputs(again.error());
  const description& about = under_test.describe();
  if (about.deterministic) return compare_bits(first, *again, what);
  const value_report report = judge(*expect(c.call, about.compute_dtype(c.call.type)), *again);
  return report.passed ? outcome{} : outcome{status::failed, what + ": " + report.message};
}

// The same call again, after a smaller one, or at once and after a larger one.
outcome check_repeat(implementation& under_test, const test_case& c) {
  const description& about = under_test.describe();
  if (about.recorded) return {status::unsupported};
  if (!within_domain(about, c)) return {status::outside_domain};
  const call_result first = under_test.evaluate(c.call);
  if (!first) return no_outputs(first.error());
  const bool smaller = c.seed % 2 == 0;
  if (!smaller)
    if (outcome o = check_again(under_test, c, *first, "the same call again"); o.verdict != status::passed) return o;
  const auto other = smaller ? smaller_case(about, c) : larger_case(about, c);
  if (!other) return smaller ? check_again(under_test, c, *first, "the same call again") : outcome{};
  const call_result between = under_test.evaluate(other->call);
  if (!between && between.error().kind != fault::unsupported) return no_outputs(between.error());
  return check_again(
      under_test, c, *first,
      smaller ? "the same call again, a smaller one between them" : "the same call again, a larger one between them");
}

}  // namespace

bool has_lanes(const core::operation& op) { return !op.independent.empty(); }

property causality_property() {
  return {"causality",
          "outputs before a token do not depend on it",
          [](const core::operation& op) { return op.recurrent.has_value(); },
          check_causality,
          false,
          3};
}
property lane_property() {
  return {"lanes", "batch rows and features do not influence one another", has_lanes, check_lanes, false, 3};
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
