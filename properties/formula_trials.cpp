#include "properties/formula_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "properties/formula_tests.hpp"
#include "reference/core/fnv1a.hpp"
#include "reference/core/parts.hpp"
#include "reference/formula/arrays.hpp"
#include "reference/formula/evaluate.hpp"

namespace assay::properties {
namespace {

using reference::formula::recorded_operation;

constexpr std::size_t several = 6;

// Whether each position of the axis alone gives what it gives together with the others.
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

// Whether all calls, of each family and setting, are `right`. False if some setting has no call.
bool holds_for_calls(const core::operation& op, const core::axis_sizes& given_sizes,
                     const std::function<bool(const core::request&)>& right) {
  for (const family& f : formula_families())
    for (const core::attributes& settings : each_setting_of(op)) {
      if (f.applies && !f.applies(op)) continue;
      const core::axis_sizes sizes = with_settings(op, given_sizes, settings);
      if (op.conflict && !op.conflict(settings, sizes).empty()) return false;
      core::counter_random random(core::fnv1a(f.name));
      if (!right({&op, core::dtype::f64, f.generate(op, core::dtype::f64, settings, random, extent(sizes)), settings}))
        return false;
    }
  return true;
}

bool is_independent(const recorded_operation& r, const std::string& axis, core::axis_sizes sizes) {
  sizes[axis] = several;
  return holds_for_calls(r.declaration, sizes, [&](const core::request& call) {
    return core::splittable_size(call, axis).has_value() && is_apart(r, axis, call);
  });
}

// The first place where two truths are different numbers.
std::string first_difference(const reference::certified_outputs& own, const reference::certified_outputs& other) {
  for (const auto& [name, x] : own) {
    const auto it = other.find(name);
    if (it == other.end() || it->second.rounded.size() != x.rounded.size())
      return "it has no such output '" + name + "'";
    const auto is_decided = [](const reference::certified& c, std::size_t k) {
      return c.rung[k] != reference::undecided;
    };
    for (std::size_t k = 0; k < x.rounded.size(); ++k) {
      const double a = x.rounded.values.storage()[k], b = it->second.rounded.values.storage()[k];
      if (!is_decided(x, k) || !is_decided(it->second, k) || std::isnan(a) || std::isnan(b) || a == b) continue;
      return fmt::format("{}{} is {}, and {} by it", name, core::index_text(x.rounded.shape(), k), a, b);
    }
  }
  return "";
}

}  // namespace

core::axis_sizes with_settings(const core::operation& op, core::axis_sizes sizes, const core::attributes& settings) {
  for (const core::attribute_declaration& a : op.attributes)
    if (!a.axis.empty()) sizes[a.axis] = static_cast<std::size_t>(core::setting<std::int64_t>(settings, a.name));
  return sizes;
}

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

std::vector<std::string> independent_axes(const recorded_operation& r, const core::axis_sizes& sizes) {
  recorded_operation declared = r;  // splittable_size asks what is declared
  std::vector<std::string> all;
  for (const std::string& axis : core::free_axes(r.declaration)) {
    // Along tokens, keys and features, shifts and windows may reach further than any trial.
    const core::axis_role role = core::role_of(r.declaration, axis);
    if (role != core::axis_role::batch && role != core::axis_role::head) continue;
    declared.declaration.independent = {axis};
    try {
      if (is_independent(declared, axis, sizes)) all.push_back(axis);
    } catch (const std::exception&) {
      continue;
    }
  }
  return all;
}

namespace {

core::request with_inputs_in(core::dtype type, const core::request& call,
                             const std::function<double(double)>& change = {}) {
  core::request other = call;
  other.type = type;
  for (auto& [name, t] : other.inputs)
    if (!call.operation->input(name)->own_type) {
      t.type = type;
      if (change) std::ranges::transform(t.values.storage(), t.values.storage().begin(), change);
    }
  return other;
}

// For the outputs of a call in f32: the error, relative to what a rounding of the inputs and of the output explains.
double loss_in(const recorded_operation& r, const core::request& call, core::counter_random& random) {
  constexpr int draws = 8;
  const double u = core::unit_roundoff(core::dtype::f32);
  const auto run = [&](const core::request& c) {
    return reference::formula::evaluate_recorded(r, c, core::precisions(c.type));
  };
  const core::tensors exact = run(with_inputs_in(core::dtype::f64, call)), plain = run(call);
  std::vector<core::tensors> moved;
  for (int k = 0; k < draws; ++k)
    moved.push_back(run(with_inputs_in(core::dtype::f64, call, [&](double x) { return x * (1 + u * random.sign()); })));
  double most = 0.0;
  for (const auto& [name, y] : exact) {
    double error = 0.0, explained = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto element = [&](const core::tensors& all) { return all.at(name).values.storage()[i]; };
      const double x = element(exact), off = element(plain) - x;
      double spread = u * std::fabs(x) * u * std::fabs(x);
      for (const core::tensors& other : moved) spread += (element(other) - x) * (element(other) - x) / draws;
      if (std::isfinite(off) && std::isfinite(spread)) error += off * off, explained += spread;
    }
    if (explained > 0.0) most = std::max(most, std::sqrt(error / explained));
  }
  return most;
}

}  // namespace

lost_digits lost_by_steps(const recorded_operation& r, const core::axis_sizes& given_sizes) {
  const core::operation& op = r.declaration;
  const core::attributes settings = core::completed(op, {});
  const core::axis_sizes sizes = with_settings(op, given_sizes, settings);
  lost_digits most;
  if (op.conflict && !op.conflict(settings, sizes).empty()) return most;
  for (const family& f : formula_families()) {
    if (f.holds_nan || (f.applies && !f.applies(op))) continue;
    core::counter_random random(core::fnv1a(f.name));
    const core::request call{&op, core::dtype::f32, f.generate(op, core::dtype::f32, settings, random, extent(sizes)),
                             settings};
    if (const double factor = loss_in(r, call, random); factor > most.factor) most = {factor, f.name};
  }
  return most;
}

std::string difference_of_way(const recorded_operation& r, std::size_t form, const core::axis_sizes& sizes) {
  constexpr std::size_t precisions = 1;  // two doubles, and 35 digits where they are not enough
  constexpr std::size_t beyond_a_chunk = 70;
  const core::operation& op = r.declaration;
  std::string found;
  bool is_tried = false;
  const auto agrees = [&](const core::request& call) {
    const auto truth_of = [&](std::size_t way) {
      const auto p = r.record({op, call.attributes, core::sizes_of(call), reference::formula::purpose::truth,
                               reference::accuracy_class::sequential, way});
      const auto truth = reference::formula::certify(p, call.inputs, core::dtype::f64, precisions);
      if (!truth) throw reference::formula::evaluation_error(truth.error().message);
      return *truth;
    };
    is_tried = true;
    found = first_difference(truth_of(0), truth_of(form));
    return found.empty();
  };
  if (holds_for_calls(op, sizes, agrees); !found.empty()) return found;
  if (!is_tried) return "at no sizes it can be tried";
  // A formula that works in chunks may have a second chunk only at these sizes.
  for (const auto& [axis, size] : sizes) {
    const core::axis_role role = core::role_of(op, axis);
    if (role != core::axis_role::token && role != core::axis_role::key) continue;
    core::axis_sizes longer = sizes;
    longer[axis] = (beyond_a_chunk + size - 1) / size * size;
    if (holds_for_calls(op, longer, agrees); !found.empty()) return found;
  }
  return "";
}

}  // namespace assay::properties
