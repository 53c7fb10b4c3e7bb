#include "properties/formula_axes.hpp"

#include <algorithm>

#include "properties/formula_tests.hpp"
#include "reference/core/fnv1a.hpp"
#include "reference/core/parts.hpp"

namespace assay::properties {
namespace {

using reference::formula::recorded_operation;

constexpr std::size_t several = 3;

// One position of the axis at a time is as all of them together.
bool is_apart(const recorded_operation& r, const std::string& axis, const core::request& call) {
  const core::operation& op = r.declaration;
  const auto run = [&](const core::request& c) {
    return reference::formula::evaluate_recorded(r, c, core::precisions(core::dtype::f64));
  };
  const core::tensors whole = run(call);
  for (std::size_t k = 0; k < several; ++k) {
    const core::part_of_call part = core::part_of(call, {{axis, {k}}});
    if (!core::check_request(part.call)) return false;
    for (const auto& [name, alone] : run(part.call)) {
      const core::tensor beside = core::part_of_output(*op.output(name), part.kept, whole.at(name));
      if (!std::ranges::equal(alone.values.storage(), beside.values.storage(), core::same_value)) return false;
    }
  }
  return true;
}

bool is_independent(const recorded_operation& r, const std::string& axis) {
  const core::operation& op = r.declaration;
  core::axis_sizes sizes;
  for (const std::string& symbol : core::axis_symbols(op)) sizes[symbol] = 2;
  sizes[axis] = several;
  for (const family& f : formula_families())
    for (const core::attributes& settings : each_setting_of(op)) {
      if (f.applies && !f.applies(op)) continue;
      if (op.conflict && !op.conflict(settings, sizes).empty()) return false;
      core::counter_random random(core::fnv1a(axis + f.name));
      core::request call{&op, core::dtype::f64, f.generate(op, core::dtype::f64, settings, random, extent(sizes)),
                         settings};
      if (!core::splittable_size(call, axis) || !is_apart(r, axis, call)) return false;
    }
  return true;
}

}  // namespace

std::vector<core::attributes> each_setting_of(const core::operation& op) {
  const core::attributes standard = core::completed(op, {});
  std::vector<core::attributes> all{standard};
  for (const core::attribute_declaration& a : op.attributes)
    for (const core::attribute& value : a.values)
      if (value != a.standard) {
        all.push_back(standard);
        all.back()[a.name] = value;
      }
  return all;
}

std::vector<std::string> independent_axes(const recorded_operation& r) {
  recorded_operation asked = r;  // splittable_size asks what is declared
  std::vector<std::string> all;
  for (const std::string& axis : core::free_axes(r.declaration)) {
    asked.declaration.independent = {axis};
    try {
      if (is_independent(asked, axis)) all.push_back(axis);
    } catch (const std::exception&) {
      continue;
    }
  }
  return all;
}

}  // namespace assay::properties
