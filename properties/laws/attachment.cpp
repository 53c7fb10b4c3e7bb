// Gradients across the boundary of two chunks. The state's gradient that the later chunk hands back is the
// earlier one's cotangent of its last state (attached); 0 instead is truncated back-propagation (detached).
//
// By composition: each chunk's gradients must be right for the state and the cotangent really handed over,
// and so the attached ones are those of the whole sequence. What detaching leaves out is, a vjp being linear
// in its cotangents, the vjp of the handed-back gradient alone: a loss on the state alone.
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "properties/laws/laws.hpp"
#include "properties/laws/measured.hpp"

namespace assay::properties {
namespace {

const core::recurrence& recurrence_of(const test_case& c) {
  return *reference::forward_of(*c.call.operation).recurrent;
}

// The state after the first chunk: as the implementation computes it, else the truth.
tl::expected<core::tensor, outcome> state_after(implementation& under_test, const test_case& chunk) {
  const core::operation& forward = reference::forward_of(*chunk.call.operation);
  test_case run{{&forward, chunk.call.type, {}, chunk.call.attributes}, chunk.family, chunk.seed};
  for (const auto& d : forward.inputs) run.call.inputs.emplace(d.name, chunk.call.inputs.at(d.name));
  const std::string& state_out = forward.recurrent->state_out;
  if (!under_test.describe().offers(forward.name, chunk.call.type) || !within_domain(under_test.describe(), run))
    return expect(run.call, under_test.describe().compute_dtype(chunk.call.type))->truth.at(state_out).rounded;
  call_result outputs = under_test.evaluate(run.call);
  if (!outputs) return tl::make_unexpected(no_outputs(outputs.error()));
  return std::move(outputs->at(state_out));
}

test_case with_cotangent(const test_case& c, const std::string& name, core::tensor t) {
  core::tensors inputs = c.call.inputs;
  inputs.at(name) = std::move(t);
  return with_inputs(c, std::move(inputs));
}

// A call judged against the truth and measured.
tl::expected<measured_call, outcome> judged(implementation& under_test, const test_case& c, const char* what) {
  auto call = measure(under_test, c);
  if (!call) return call;
  const auto expected = expect(c.call, under_test.describe().compute_dtype(c.call.type));
  const value_report report = judge(*expected, call->outputs);
  if (report.passed) return call;
  core::tensors truth;
  for (const auto& [name, proved] : expected->truth) truth.emplace(name, proved.rounded);
  return tl::make_unexpected(violated(fmt::format("{}: {}", what, report.message), truth, call->outputs));
}

// attached = detached + what the handed-back gradient adds.
std::optional<std::string> compare_sum(const measured_call& attached, const measured_call& detached,
                                       const measured_call& added) {
  for (const auto& [name, t] : attached.outputs)
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double x = detached.outputs.at(name).values.storage()[i] + added.outputs.at(name).values.storage()[i];
      const double y = t.values.storage()[i];
      const double allowed = attached.allowed.at(name)[i] + detached.allowed.at(name)[i] + added.allowed.at(name)[i] +
                             0x1p-52 * std::fabs(x);
      if (!agree(x, y, allowed))
        return fmt::format(
            "{}{}: detached and handed-back gradients add up to {:.9g}, attached it is {:.9g}, allowed "
            "difference {:.3g}",
            name, core::index_text(t.shape(), i), x, y, allowed);
    }
  return std::nullopt;
}

outcome check_attachment(implementation& under_test, const test_case& c) {
  if (!within_domain(under_test.describe(), c)) return {status::outside_domain};
  const core::recurrence& r = recurrence_of(c);
  const std::size_t n = sizes_of(c).at(r.time_axis);
  if (n == 0) return {status::uninformative};
  const std::size_t m = core::counter_random(c.seed).below(n + 1);
  const std::string state_cotangent = "grad_" + r.state_out;

  test_case first = with_inputs(c, tokens_of(c, 0, m)), second = with_inputs(c, tokens_of(c, m, n));
  const auto state = state_after(under_test, first);
  if (!state) return state.error();
  second.call.inputs.at(r.state_in) = *state;
  const auto later = judged(under_test, second, "the later chunk");
  if (!later) return later.error();

  const core::tensor& handed_back = later->outputs.at("grad_" + r.state_in);
  const core::tensor nothing = core::zeros(c.call.type, handed_back.shape());
  test_case state_alone = with_cotangent(first, state_cotangent, handed_back);
  for (const auto& d : reference::forward_of(*c.call.operation).outputs)
    if (d.name != r.state_out) {
      core::tensor& t = state_alone.call.inputs.at("grad_" + d.name);
      t = core::zeros(t.type, t.shape());
    }
  const auto attached =
      judged(under_test, with_cotangent(first, state_cotangent, handed_back), "the earlier chunk, attached");
  if (!attached) return attached.error();
  const auto detached = judged(under_test, with_cotangent(first, state_cotangent, nothing), "detached");
  if (!detached) return detached.error();
  const auto added = judged(under_test, state_alone, "a loss on the state alone");
  if (!added) return added.error();
  const auto wrong = compare_sum(*attached, *detached, *added);
  if (wrong) return violated(fmt::format("split at {}: {}", m, *wrong), attached->outputs, detached->outputs);
  return {core::identical(handed_back, nothing) ? status::uninformative : status::passed};
}

}  // namespace

property attachment_property() {
  return {"attachment",
          "gradients in two chunks, the state's gradient handed back or not, and of a loss on the state alone",
          [](const core::operation& op) { return op.is_vjp() && reference::forward_of(op).recurrent.has_value(); },
          check_attachment,
          false,
          5};
}

}  // namespace assay::properties
