// Independence of outputs: of later tokens, of other rows and features, of an earlier call.
#include <algorithm>
#include <limits>
#include <optional>

#include "properties/laws/laws.hpp"
#include "properties/laws/relations/relations.hpp"

namespace assay::properties {
namespace {

// Whether the implementation takes any value in all inputs of the operation.
bool takes_nan(const description& about, const core::operation& op) {
  return op.is_forward() && about.domain.find(op.name) == about.domain.end();
}

// Replaces everything at the given positions of an axis by NaN, or by the values at mirrored positions.
core::tensors overwrite(const core::operation& op, const core::tensors& inputs, const std::string& symbol,
                        const std::vector<bool>& overwritten, bool with_nan) {
  const std::size_t size = overwritten.size();
  std::vector<std::size_t> from(size);
  for (std::size_t i = 0; i < size; ++i) from[i] = overwritten[i] ? size - 1 - i : i;
  core::tensors out = core::restrict_axis(op, inputs, symbol, from);
  if (!with_nan) return out;
  for (const auto& d : op.inputs) {
    const auto axis = core::axis_of(d, symbol);
    if (!axis || d.own_type || !d.differentiable) continue;  // a parameter has one value for the whole configuration
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

// Whether anything really changed: equal values would prove nothing.
bool differs(const core::tensors& a, const core::tensors& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& x) { return !core::identical(x.second, b.at(x.first)); });
}

// Compares outputs that must not have changed: bit by bit, and if bits differ, within the errors allowed to the call.
// Equal calls may give equal bits while other calls do not: vectorised functions of a library may take another path if
// one lane is a NaN (PyTorch's cosine does).
void compare_untouched(experiment& e, const std::string& symbol, const std::vector<bool>& overwritten,
                       const core::tensors& before, const core::tensors& after) {
  const core::operation& op = *e.c.call.operation;
  if (!e.changed_bits(untouched(op, before, symbol, overwritten), untouched(op, after, symbol, overwritten))) return;
  core::tensors mixed = before;
  for (const auto& d : op.outputs) {
    const auto axis = core::axis_of(d, symbol);
    if (!axis) continue;
    core::tensor& t = mixed.at(d.name);
    const std::size_t inner = core::stride_of(t.shape(), *axis);
    for (std::size_t i = 0; i < t.size(); ++i)
      if (!overwritten[(i / inner) % overwritten.size()]) t.values.storage()[i] = after.at(d.name).values.storage()[i];
  }
  e.judge(e.c, mixed);
}

void check_unaffected(experiment& e, const std::string& symbol, const std::vector<bool>& overwritten,
                      const std::string& what) {
  const core::operation& op = *e.c.call.operation;
  const core::tensors& before = e.outputs_of(e.c);
  for (const bool with_nan : {false, true}) {
    if (with_nan && !takes_nan(e.about(), op)) continue;
    const test_case edited = with_inputs(e.c, overwrite(op, e.c.call.inputs, symbol, overwritten, with_nan));
    if (!differs(e.c.call.inputs, edited.call.inputs)) continue;
    if (!with_nan && !within_domain(e.about(), edited)) continue;
    const bool is_of_tokens = op.recurrent && symbol == op.recurrent->time_axis;
    if (with_nan && is_of_tokens && rests_on_convention(edited.call)) continue;
    const core::tensors& after = e.outputs_of(edited);
    e.during(what + (with_nan ? " set to NaN" : " changed"),
             [&] { compare_untouched(e, symbol, overwritten, before, after); });
  }
}

void check_causality(experiment& e) {
  e.needs_domain(e.c);
  const std::string& axis = e.c.call.operation->recurrent->time_axis;
  const std::size_t n = sizes_of(e.c).at(axis);
  e.needs(n > 1);
  const std::size_t first = 1 + core::counter_random(e.c.seed).below(n - 1);
  std::vector<bool> later(n);
  for (std::size_t i = first; i < n; ++i) later[i] = true;
  check_unaffected(e, axis, later, "tokens from " + std::to_string(first + 1) + " on");
}

void check_lanes(experiment& e) {
  e.needs_domain(e.c);
  for (const std::string& axis : e.c.call.operation->independent) {
    const std::size_t size = sizes_of(e.c).at(axis);
    if (size < 2) continue;
    std::vector<bool> others(size, true);
    others[core::counter_random(e.c.seed).below(size)] = false;
    check_unaffected(e, axis, others, "the other positions of axis " + axis);
  }
}

// The same inputs twice along the axis of tokens, if there is one, and every number among the settings as large as it
// may be.
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
  if (const std::string axis = core::axis_with(op, core::axis_role::token); !axis.empty() && !op.drawn) {
    const std::size_t tokens = sizes_of(c).at(axis);
    std::vector<std::size_t> twice(2 * tokens);
    for (std::size_t i = 0; i < twice.size(); ++i) twice[i] = i % tokens;
    larger.call.inputs = core::restrict_axis(op, c.call.inputs, axis, twice);
  }
  if (!core::check_request(larger.call) || !within_domain(about, larger)) return std::nullopt;
  return larger;
}

std::optional<test_case> smaller_case(const description& about, const test_case& c) {
  return find_simpler_case(c, [&](const test_case& other) { return within_domain(about, other); });
}

// Makes the same call again: nothing may be remembered. Equal bits are equal answers; this law does not ask if they are
// right. Different bits are two answers, which may differ by the sum of their allowed errors, unless equal calls are
// declared to give equal bits.
void check_again(experiment& e, const core::tensors& first, const char* what) {
  const core::tensors& again = e.outputs_of(e.c);
  const auto changed = e.changed_bits(first, again);
  if (!changed) return;
  if (e.about().deterministic) e.during(what, [&] { e.wrong(*changed); });
  e.equal(e.allowed(first), e.allowed(again), what);
}

// Repeats the call after a smaller one, or at once and after a larger one.
void check_repeat(experiment& e) {
  const description& about = e.about();
  if (about.recorded) throw experiment::ended{{status::unsupported}};
  e.needs_domain(e.c);
  const core::tensors& first = e.outputs_of(e.c);
  const bool smaller = e.c.seed % 2 == 0;
  const auto other = smaller ? smaller_case(about, e.c) : larger_case(about, e.c);
  if (!smaller || !other) check_again(e, first, "the same call again");
  if (!other) return;
  try {
    e.outputs_of(*other);
  } catch (const experiment::ended& end) {
    if (end.result.verdict != status::unsupported) throw;
  }
  check_again(
      e, first,
      smaller ? "the same call again, a smaller one between them" : "the same call again, a larger one between them");
}

}  // namespace

bool has_lanes(const core::operation& op) { return !op.independent.empty(); }

property causality_property() {
  return law("causality", "outputs before a token do not depend on it",
             {.with = [](const core::operation& op) { return op.recurrent.has_value(); }}, {3, check_causality});
}
property lane_property() {
  return law("lanes", "batch rows and features do not influence one another", {.with = has_lanes}, {3, check_lanes});
}
property repeat_property() {
  property p = law("repeat", "the same call gives the same outputs",
                   {.with = [](const core::operation&) { return true; }}, {2, check_repeat});
  p.about_state = true;
  return p;
}

}  // namespace assay::properties
