#include "properties/encodings/fox/laws/attention.hpp"

#include <cmath>
#include <limits>

#include "properties/encodings/fox/laws/heads.hpp"
#include "properties/laws/laws.hpp"

namespace assay::properties::encodings::fox {
namespace {

bool is_fox_attention(const core::operation& op) { return op.forward_name() == "fox/attention"; }

// Compares what belongs to the given tokens of a call with a call of these tokens alone.
std::optional<outcome> wrong_tokens(comparisons& all, const core::operation& op, const measured_call& alone,
                                    const measured_call& whole, const std::vector<std::size_t>& kept,
                                    const std::string& what) {
  for (const auto& d : op.outputs) {
    const std::vector<std::size_t> to = taken(whole.outputs.at(d.name).shape(), core::axis_of(d, "n").value(), kept);
    if (const auto wrong = compare_elements(all, d.name, alone, every(to.size()), whole, to))
      return violated(what + ": " + *wrong, alone.outputs, whole.outputs);
  }
  return std::nullopt;
}

// The elements of a tensor that belong to tokens [first, last).
void fill_tokens(const core::operation& op, core::tensors& inputs, const char* name, std::size_t first,
                 std::size_t last, double x) {
  core::tensor& t = inputs.at(name);
  for (const std::size_t i : taken(t.shape(), core::axis_of(*op.input(name), "n").value(), span_of(first, last)))
    t.values.storage()[i] = x;
}

// A gate of 0 forgets all that came before: the outputs from its token on are those of a sequence that starts there,
// and so are the gradients where no cotangent stands before it; what came before has none, and neither has the gate.
outcome check_reset(implementation& under_test, const test_case& c) {
  const core::operation& op = *c.call.operation;
  const std::size_t n = sizes_of(c).at("n");
  if (n < 2) return {status::uninformative};
  const std::size_t first = 1 + core::counter_random(c.seed).below(n - 1);
  core::tensors inputs = c.call.inputs;
  fill_tokens(op, inputs, "log_f", first, first + 1, -std::numeric_limits<double>::infinity());
  if (op.is_vjp()) fill_tokens(op, inputs, "grad_o", 0, first, 0.0);
  const std::vector<std::size_t> kept = span_of(first, n);
  const auto fresh = measure(under_test, with_inputs(c, core::restrict_axis(op, inputs, "n", kept)));
  if (!fresh) return fresh.error();
  const auto whole = measure(under_test, with_inputs(c, std::move(inputs)));
  if (!whole) return whole.error();
  comparisons all;
  const std::string what = fmt::format("a gate of 0 at token {}", first);
  if (auto wrong = wrong_tokens(all, op, *fresh, *whole, kept, what)) return *wrong;
  for (const auto& d : op.outputs) {
    if (!op.is_vjp()) break;
    const std::size_t end = d.name == "grad_log_f" ? first + 1 : first;
    for (const std::size_t i : taken(whole->outputs.at(d.name).shape(), core::axis_of(d, "n").value(), span_of(0, end)))
      if (const approximate x = element(*whole, d.name, i); !agree(all, {0.0, 0.0}, x))
        return violated(fmt::format("{}: {} element {} before it is {:.9g}", what, d.name, i, x.value), fresh->outputs,
                        whole->outputs);
  }
  return all.result();
}

// Tokens that come later change no output but by roundings, whether they are others or not there.
outcome check_prefix(implementation& under_test, const test_case& c) {
  const core::operation& op = *c.call.operation;
  const std::size_t n = sizes_of(c).at("n");
  if (n < 2) return {status::uninformative};
  const std::size_t first = 1 + core::counter_random(c.seed).below(n - 1);
  const std::vector<std::size_t> kept = span_of(0, first);
  const auto whole = measure(under_test, c);
  if (!whole) return whole.error();
  const auto alone = measure(under_test, with_inputs(c, core::restrict_axis(op, c.call.inputs, "n", kept)));
  if (!alone) return alone.error();
  comparisons all;
  const std::string without = fmt::format("without the tokens from {} on", first),
                    others = fmt::format("with other tokens from {} on", first);
  if (auto wrong = wrong_tokens(all, op, *alone, *whole, kept, without)) return *wrong;
  std::vector<std::size_t> from = every(n);
  for (std::size_t i = first; i < n; ++i) from[i] = (i * 7) % first;
  auto changed = measure(under_test, with_inputs(c, core::restrict_axis(op, c.call.inputs, "n", from)));
  if (!changed) return changed.error();
  if (auto wrong = wrong_tokens(all, op, *alone, *changed, kept, others)) return *wrong;
  return all.result();
}

// A call whose outputs are allowed the errors of another one.
tl::expected<measured_call, outcome> measure_as(implementation& under_test, const test_case& c,
                                                const measured_call& like) {
  call_result outputs = under_test.evaluate(c.call);
  if (!outputs) return tl::make_unexpected(no_outputs(outputs.error()));
  return measured_call{std::move(*outputs), like.allowed};
}

// The first gate stands in no segment: no output depends on it, and its gradient is 0. (Exactly 0 unless prefix sums
// hold it: the class tells.) Of what takes every number as a gate, NaN may stand there.
outcome check_first_gate(implementation& under_test, const test_case& c) {
  const core::operation& op = *c.call.operation;
  const description& about = under_test.describe();
  const bool with_nan = op.is_forward() && !about.domain.contains(op.name);
  core::tensors inputs = c.call.inputs;
  if (inputs.at(gate_name(op)).size() == 0) return {status::uninformative};
  fill_tokens(op, inputs, gate_name(op), 0, 1, with_nan ? std::numeric_limits<double>::quiet_NaN() : -0.75);
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  comparisons all;
  for (const head& h : heads_of(c)) {
    if (op.is_forward()) break;
    const approximate x = element(*call, std::string("grad_") + gate_name(op), h.gate(0));
    if (!agree(all, {0.0, 0.0}, x))
      return violated(
          fmt::format("row {} head {}: the gradient of the first gate is {} instead of 0", h.row, h.index, x.value), {},
          call->outputs);
  }
  const auto changed = with_nan ? measure_as(under_test, with_inputs(c, std::move(inputs)), *call)
                                : measure(under_test, with_inputs(c, std::move(inputs)));
  if (!changed) return changed.error();
  if (auto wrong = compare_outputs(all, *call, *changed))
    return violated("another first gate: " + *wrong, call->outputs, changed->outputs);
  return all.result();
}

property law(const char* name, const char* summary, outcome (*check)(implementation&, const test_case&),
             bool (*applies)(const core::operation&), std::size_t calls) {
  return {name, summary, applies, check, false, calls, families_without_nan};
}

}  // namespace

std::vector<property> attention_laws() {
  const auto output = [](const core::operation& op) { return op.name == "fox/attention"; };
  const auto any = [](const core::operation& op) { return op.name.starts_with("fox/"); };
  return {law("gate_reset", "a gate of 0 forgets all that came before", check_reset, is_fox_attention, 2),
          law("later_tokens", "tokens that come later change no output", check_prefix, output, 3),
          law("first_gate", "nothing depends on the first gate, and it has no gradient", check_first_gate, any, 2)};
}

}  // namespace assay::properties::encodings::fox
