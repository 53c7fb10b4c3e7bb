// What one stage of an operation costs in a narrow format: the formula in f32 but for that stage, against the truth of
// the same narrow tensors. An implementation is a stage by name, "rope/rotate/angle"; "none", "all", or "usual": the
// stages that are narrow in common code (assay list stages).
#include <algorithm>
#include <cmath>

#include "properties/harness/case.hpp"
#include "reference/evaluate_in.hpp"
#include "reference/oracle.hpp"
#include "tools/explore/single_cells.hpp"

namespace assay::explore {
namespace {

using core::dtype;

std::vector<const core::operation*> staged_operations() {
  std::vector<const core::operation*> all;
  for (const core::operation& op : reference::operations())
    if (op.is_forward() && !op.stages.empty()) all.push_back(&op);
  return all;
}

struct narrowed {
  const core::operation* operation;
  std::string stage;
};
narrowed narrowed_by(const cell& c) {
  const std::size_t last = c.implementation.rfind('/');
  return {reference::find_operation(c.implementation.substr(0, last)), c.implementation.substr(last + 1)};
}

core::precisions formats_of(const narrowed& what, dtype narrow) {
  if (what.stage == "usual") return what.operation->usual_precisions(narrow);
  std::vector<dtype> formats;
  for (const core::stage_declaration& s : what.operation->stages)
    formats.push_back(what.stage == "all" || what.stage == s.name ? narrow : dtype::f32);
  return {what.operation->stages, formats};
}

// Errors are relative to the scale of the output (core::error_scales).
results stage_errors(const cell& c) {
  const narrowed what = narrowed_by(c);
  const dtype narrow = *core::dtype_named(c.arithmetic);
  const auto width = static_cast<std::size_t>(c.scale);
  using core::axis_role;
  const properties::extent size(core::sizes_by_role(*what.operation, {{axis_role::batch, 1},
                                                                      {axis_role::token, c.size},
                                                                      {axis_role::key, c.size},
                                                                      {axis_role::head, 2},
                                                                      {axis_role::width, width}}));
  const core::request call = properties::make_case({what.operation, narrow, c.family, c.seed, size}).call;
  const reference::certified_outputs truth = reference::truth_of(call);
  double largest = 0, squares = 0, count = 0;
  for (const auto& [name, found] : reference::evaluate_in(call, formats_of(what, narrow))) {
    const reference::certified& right = truth.at(name);
    std::vector<double> values(found.values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = right.truth(i);
    const std::vector<double> scales = core::error_scales(*what.operation->output(name), narrow, found.shape(), values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error = std::fabs(right.error_of(found.values.storage()[i], i)) / scales[i];
      largest = std::isnan(error) || std::isnan(largest) ? std::nan("") : std::max(largest, error);
      squares += error * error;
      count += 1;
    }
  }
  constexpr double most_digits = 15;
  return {{"largest", largest},
          {"rms", std::sqrt(squares / count)},
          {"digits", std::isnan(largest) ? 0.0 : std::clamp(-std::log10(largest), 0.0, most_digits)}};
}

core::result<void> check_stage(const cell& c) {
  const narrowed what = narrowed_by(c);
  if (c.arithmetic != "f16" && c.arithmetic != "bf16") return refuse_cell(c, "the narrow format is f16 or bf16");
  if (properties::find_family(*what.operation, c.family) == nullptr)
    return refuse_cell(c, what.operation->name + " has no family '" + c.family + "'");
  if (c.scale < 2 || c.scale > 1024 || c.scale != 2 * std::floor(c.scale / 2))
    return refuse_cell(c, "scale is the width here: even, 2 to 1024");
  return c.size <= 4096 ? core::result<void>() : refuse_cell(c, "at most 4096 tokens");
}

// Of a table of all pairs of tokens.
double all_pairs(const cell& c) {
  const auto n = static_cast<double>(c.size);
  return n * n * c.scale;
}

}  // namespace

measure stage_costs() {
  measure m{.name = "stage",
            .summary = "error of an operation of which one stage is computed in a narrow format",
            .size_means = "tokens n",
            .decay_means = "",
            .scale_means = "width",
            .check = check_stage};
  for (const core::operation* op : staged_operations()) {
    for (const char* word : {"none", "usual", "all"}) m.implementations.push_back(op->name + "/" + word);
    for (const core::stage_declaration& s : op->stages) m.implementations.push_back(op->name + "/" + s.name);
    for (const properties::family& f : properties::families_of(*op))
      if (!f.holds_nan && std::find(m.families.begin(), m.families.end(), f.name) == m.families.end())
        m.families.push_back(f.name);
  }
  return of_single_cells(std::move(m), stage_errors, all_pairs);
}

}  // namespace assay::explore
