#include "properties/encodings/fox/laws/attention.hpp"

#include <cmath>
#include <limits>

#include "properties/encodings/fox/laws/heads.hpp"

namespace assay::properties::encodings::fox {
namespace {

// The outputs of a call of the given tokens alone, or of these and others.
void compare_tokens(experiment& e, const measured_call& alone, const measured_call& whole,
                    const std::vector<std::size_t>& kept, const std::string& what) {
  e.equal_along("n", alone, every(kept.size()), whole, kept, experiment::without_axis::equal, what);
}

// A gate of 0 forgets all that came before: the outputs from its token on are those of a sequence that starts there,
// and so are the gradients where no cotangent stands before it; what came before has none, and neither has the gate.
void check_reset(experiment& e) {
  const core::operation& op = *e.c.call.operation;
  const std::size_t n = sizes_of(e.c).at("n");
  e.needs(n > 1);
  const std::size_t first = 1 + core::counter_random(e.c.seed).below(n - 1);
  core::tensors inputs = e.c.call.inputs;
  fill_along(op, inputs, "log_f", "n", {first}, -std::numeric_limits<double>::infinity());
  if (op.is_vjp()) fill_along(op, inputs, "grad_o", "n", span_of(0, first), 0.0);
  const std::vector<std::size_t> kept = span_of(first, n);
  const measured_call& fresh = e.call(with_inputs(e.c, core::restrict_axis(op, inputs, "n", kept)));
  const measured_call& whole = e.call(with_inputs(e.c, std::move(inputs)));
  compare_tokens(e, fresh, whole, kept, fmt::format("a gate of 0 at token {}", first));
  for (const auto& d : op.outputs) {
    if (!op.is_vjp()) break;
    const std::size_t end = d.name == "grad_log_f" ? first + 1 : first;
    e.zero(d.name, whole, taken(whole.outputs.at(d.name).shape(), core::axis_of(d, "n").value(), span_of(0, end)), 0.0,
           fmt::format("a gate of 0 at token {}, before it", first));
  }
}

// Tokens that come later change no output but by roundings, whether they are others or not there.
void check_prefix(experiment& e) {
  const core::operation& op = *e.c.call.operation;
  const std::size_t n = sizes_of(e.c).at("n");
  e.needs(n > 1);
  const std::size_t first = 1 + core::counter_random(e.c.seed).below(n - 1);
  const std::vector<std::size_t> kept = span_of(0, first);
  std::vector<std::size_t> from = every(n);
  for (std::size_t i = first; i < n; ++i) from[i] = (i * 7) % first;
  const auto tokens = [&](const std::vector<std::size_t>& of) {
    return with_inputs(e.c, core::restrict_axis(op, e.c.call.inputs, "n", of));
  };
  const measured_call &whole = e.call(), &alone = e.call(tokens(kept));
  compare_tokens(e, alone, whole, kept, fmt::format("without the tokens from {} on", first));
  compare_tokens(e, alone, e.call(tokens(from)), kept, fmt::format("with other tokens from {} on", first));
}

// The first gate stands in no segment: no output depends on it, and its gradient is 0. (Exactly 0 unless prefix sums
// hold it: the class tells.) Of what takes every number as a gate, NaN may stand there.
void check_first_gate(experiment& e) {
  const core::operation& op = *e.c.call.operation;
  const bool with_nan = op.is_forward() && !e.about().domain.contains(op.name);
  core::tensors inputs = e.c.call.inputs;
  e.needs(inputs.at(gate_name(op)).size() > 0);
  fill_along(op, inputs, gate_name(op), "n", {0}, with_nan ? std::numeric_limits<double>::quiet_NaN() : -0.75);
  const measured_call& call = e.call();
  for (const head& h : heads_of(e.c)) {
    if (op.is_forward()) break;
    e.equal(exactly(0), element(call, std::string("grad_") + gate_name(op), h.gate(0)),
            "row {} head {}: the gradient of the first gate", h.row, h.index);
  }
  const test_case changed = with_inputs(e.c, std::move(inputs));
  e.equal(call, with_nan ? e.call_allowed(changed, call) : e.call(changed), "another first gate");
}

}  // namespace

std::vector<property> attention_laws() {
  return {law("gate_reset", "a gate of 0 forgets all that came before", of({"fox/attention", "fox/attention:vjp"}),
              {2, check_reset}),
          law("later_tokens", "tokens that come later change no output", of({"fox/attention"}), {3, check_prefix}),
          law("first_gate", "nothing depends on the first gate, and it has no gradient", of({"fox/*"}),
              {2, check_first_gate})};
}

}  // namespace assay::properties::encodings::fox
