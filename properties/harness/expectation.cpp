#include "properties/harness/expectation.hpp"

#include <tbb/parallel_for.h>

#include "properties/harness/call_memory.hpp"

namespace assay::properties {
namespace {

call_memory<reference::allowances>& known_allowances() {
  static call_memory<reference::allowances> memory;
  return memory;
}
call_memory<expectation>& known_expectations() {
  static call_memory<expectation> memory;
  return memory;
}

std::size_t elements_of(const request& call) {
  std::size_t elements = 0;
  for (const auto& [name, t] : call.inputs) elements += t.size();
  return elements;
}

}  // namespace

bool has_wider_laws(const request& call) {
  return reference::algorithms_of(*call.operation).back() > reference::accuracy_class::sequential;
}

expectation make_expectation(const request& call, const core::precisions& compute) {
  return {call, compute, reference::truth_of(call),
          std::make_shared<const reference::allowances>(
              reference::allow(call, compute, reference::accuracy_class::sequential))};
}

std::vector<double> scales_of(const expectation& e, const std::string& output) {
  const reference::certified& c = e.truth.at(output);
  std::vector<double> truth(c.rounded.size());
  for (std::size_t i = 0; i < truth.size(); ++i) truth[i] = c.truth(i);
  return core::error_scales(*e.call.operation->output(output), c.rounded.type, c.rounded.shape(), truth);
}

std::shared_ptr<const reference::allowances> allowances_of(const request& call, const core::precisions& compute) {
  return known_allowances().recall(call, compute, [&] { return reference::allow(call, compute); });
}

std::shared_ptr<const reference::allowances> all_laws(const expectation& e) {
  return has_wider_laws(e.call) ? allowances_of(e.call, e.compute) : e.first_laws;
}

std::shared_ptr<const expectation> expect(const request& call, const core::precisions& compute) {
  return known_expectations().recall(call, compute, [&] { return make_expectation(call, compute); });
}

void expect_all(const std::vector<request>& calls, const core::precisions& compute) {
  std::vector<const request*> unknown;
  for (const request& call : calls)
    if (!known_expectations().knows(call, compute)) unknown.push_back(&call);
  std::vector<expectation> found(unknown.size());
  tbb::parallel_for(std::size_t{0}, unknown.size(),
                    [&](std::size_t i) { found[i] = make_expectation(*unknown[i], compute); });
  for (expectation& e : found) known_expectations().recall(request(e.call), compute, [&] { return std::move(e); });
}

std::vector<core::kept_positions> parts_of_large(const request& call) {
  constexpr std::size_t large = std::size_t{1} << 17;
  if (elements_of(call) < large) return {};
  auto parts = core::split_call(call, core::usual_part_of(reference::forward_of(*call.operation)));
  if (parts.size() < 2) parts.clear();
  return parts;
}

}  // namespace assay::properties
