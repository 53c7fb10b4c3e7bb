#include "properties/diagnosis/one_call.hpp"

#include <algorithm>

#include "properties/diagnosis/explanation.hpp"
#include "reference/core/parts.hpp"

namespace assay::properties {
namespace {

// More than a hundred entries are tried on the call; on larger calls that would take too long.
constexpr std::size_t most_examined = std::size_t{1} << 14;
// Positions kept of an axis: a fault that exchanges positions needs neighbours.
constexpr std::size_t positions_kept = 4;

std::size_t elements_of(const core::tensors& all) {
  std::size_t sum = 0;
  for (const auto& [name, t] : all) sum += t.size();
  return sum;
}

// A few positions of every independent axis, with that of the wrong element among them.
core::kept_positions about(const request& call, const core::tensors& outputs, const element_report& wrong) {
  const core::tensor_declaration& d = *call.operation->output(wrong.output);
  const core::shape shape = outputs.at(wrong.output).shape();
  core::kept_positions kept;
  for (const std::string& symbol : call.operation->independent) {
    const auto size = core::splittable_size(call, symbol);
    const auto axis = core::axis_of(d, symbol);
    if (!size || !axis) continue;
    const std::size_t position = wrong.index / core::stride_of(shape, *axis) % *size;
    const std::size_t first = std::min(position, *size - std::min(*size, positions_kept));
    for (std::size_t i = first; i < *size && i < first + positions_kept; ++i) kept[symbol].push_back(i);
  }
  return kept;
}

}  // namespace

std::optional<std::string> explanation_of_outputs(const request& call, const core::precisions& compute,
                                                  const core::tensors& outputs, const value_report& report) {
  core::part_of_call part{call};
  core::tensors actual = outputs;
  if (elements_of(call.inputs) + elements_of(outputs) > most_examined) {
    part = core::part_of(call, about(call, outputs, report.worst));
    for (const core::tensor_declaration& d : call.operation->outputs)
      actual.at(d.name) = core::part_of_output(d, part.kept, outputs.at(d.name));
    if (elements_of(part.call.inputs) + elements_of(actual) > most_examined) return std::nullopt;
  }
  std::vector<probe> probes{probe_of({part.call, "asked"}, probe_kind::counterexample, std::move(actual), compute)};
  if (probes.front().right) return std::nullopt;
  const auto found = explanation_of_call(probes.front(), dictionary_of(*call.operation, call.type, probes));
  return found ? std::optional(found->sentence) : std::nullopt;
}

}  // namespace assay::properties
