// Gradients across the boundary of two chunks. The state's gradient that the later chunk returns is the earlier chunk's
// cotangent of its last state (attached); with 0 instead it is truncated back-propagation (detached).
//
// By composition: each chunk's gradients must be right for the state and the cotangent that it really got; then the
// attached ones are those of the whole sequence. A vjp is linear in its cotangents, so the part that detaching leaves
// out is the vjp of the returned gradient alone: a loss on the state alone.
#include "properties/laws/laws.hpp"
#include "properties/laws/relations/relations.hpp"

namespace assay::properties {
namespace {

const core::recurrence& recurrence_of(const test_case& c) {
  return *reference::forward_of(*c.call.operation).recurrent;
}

// The state after the first chunk: from the implementation if it offers the forward operation, else the truth.
core::tensor state_after(experiment& e, const test_case& chunk) {
  const core::operation& forward = reference::forward_of(*chunk.call.operation);
  test_case run{{&forward, chunk.call.type, {}, chunk.call.attributes}, chunk.family, chunk.seed};
  for (const auto& d : forward.inputs) run.call.inputs.emplace(d.name, chunk.call.inputs.at(d.name));
  const std::string& state_out = forward.recurrent->state_out;
  if (!e.offers(forward.name) || !within_domain(e.about(), run))
    return expect(run.call, e.about().precisions_of(run.call))->truth.at(state_out).rounded;
  return e.outputs_of(run).at(state_out);
}

test_case with_cotangent(const test_case& c, const std::string& name, core::tensor t) {
  core::tensors inputs = c.call.inputs;
  inputs.at(name) = std::move(t);
  return with_inputs(c, std::move(inputs));
}

// If `what` is wrong, the message says so.
const measured_call& right_gradients(experiment& e, const test_case& c, const char* what) {
  const measured_call* call = nullptr;
  e.during(what, [&] { call = &e.right_call(c); });
  return *call;
}

void check_attachment(experiment& e) {
  const test_case& c = e.c;
  e.needs_domain(c);
  const core::recurrence& r = recurrence_of(c);
  const std::size_t n = sizes_of(c).at(r.time_axis);
  const std::size_t unit = e.about().sizes_of_axis(*c.call.operation, r.time_axis).multiple_of, chunks = n / unit;
  e.needs(chunks > 1);
  const std::size_t m = unit * (1 + core::counter_random(c.seed).below(chunks - 1));
  const std::string state_cotangent = "grad_" + r.state_out;

  test_case first = with_inputs(c, tokens_of(c, 0, m)), second = with_inputs(c, tokens_of(c, m, n));
  second.call.inputs.at(r.state_in) = state_after(e, first);
  const core::tensor& handed_back = right_gradients(e, second, "the later chunk").outputs.at("grad_" + r.state_in);
  const core::tensor nothing = core::zeros(c.call.type, handed_back.shape());
  test_case state_alone = with_cotangent(first, state_cotangent, handed_back);
  for (const auto& d : reference::forward_of(*c.call.operation).outputs)
    if (d.name != r.state_out) {
      core::tensor& t = state_alone.call.inputs.at("grad_" + d.name);
      t = core::zeros(t.type, t.shape());
    }
  const measured_call &attached = right_gradients(e, with_cotangent(first, state_cotangent, handed_back),
                                                  "the earlier chunk, attached"),
                      &detached = right_gradients(e, with_cotangent(first, state_cotangent, nothing), "detached"),
                      &added = right_gradients(e, state_alone, "a loss on the state alone");
  for (const auto& [name, t] : attached.outputs)
    for (std::size_t i = 0; i < t.size(); ++i) {
      cancelling_sum both;
      for (const measured_call* part : {&detached, &added}) both.add(element(*part, name, i));
      e.equal(both.value, element(attached, name, i), both.size,
              "split at {}: {}{}, detached and handed-back gradients added up, and attached", m, name,
              core::index_text(t.shape(), i));
    }
  e.needs(!core::identical(handed_back, nothing));
}

}  // namespace

property attachment_property() {
  return law(
      "attachment",
      "gradients in two chunks, the state's gradient handed back or not, and of a loss on the state alone",
      {.with =
           [](const core::operation& op) { return op.is_vjp() && reference::forward_of(op).recurrent.has_value(); }},
      {5, check_attachment});
}

}  // namespace assay::properties
