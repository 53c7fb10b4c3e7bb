#include "properties/laws/measured.hpp"

#include <cmath>
#include <numeric>

#include "properties/laws/laws.hpp"

namespace assay::properties {

tl::expected<measured_call, outcome> measure(implementation& under_test, const test_case& c) {
  const description& about = under_test.describe();
  if (!within_domain(about, c)) return tl::make_unexpected(outcome{status::outside_domain});
  call_result outputs = under_test.evaluate(c.call);
  if (!outputs) return tl::make_unexpected(no_outputs(outputs.error()));
  return with_allowances(about, c, std::move(*outputs));
}

measured_call with_allowances(const description& about, const test_case& c, core::tensors outputs) {
  const core::precisions compute = about.precisions_of(c.call);
  measured_call m{std::move(outputs), {}};
  for (const auto& [name, law] : *allowances_of(c.call, compute)) {
    const auto& k = law.k.back().storage();
    const auto& x = m.outputs.at(name).values.storage();
    std::vector<double>& allowed = m.allowed[name];
    const core::dtype storage = c.call.operation->output(name)->type_in(c.call.type);
    for (std::size_t i = 0; i < x.size(); ++i) allowed.push_back(allowed_error(storage, compute, k[i], x[i]));
  }
  return m;
}

test_case with_inputs(const test_case& c, core::tensors inputs) {
  test_case other = c;
  other.call.inputs = std::move(inputs);
  return other;
}

core::tensors tokens_of(const test_case& c, std::size_t first, std::size_t last) {
  const core::operation& forward = reference::forward_of(*c.call.operation);
  std::vector<std::size_t> kept(last - first);
  std::iota(kept.begin(), kept.end(), first);
  return core::restrict_axis(*c.call.operation, c.call.inputs, forward.recurrent->time_axis, kept);
}

bool agree(double x, double y, double allowed) {
  if (core::same_value(x, y)) return true;
  return std::isfinite(x) && std::isfinite(y) && std::fabs(x - y) <= allowed;
}

outcome violated(std::string message, core::tensors expected, core::tensors actual) {
  outcome o{status::failed, std::move(message)};
  o.expected = std::move(expected);
  o.actual = std::move(actual);
  return o;
}

}  // namespace assay::properties
