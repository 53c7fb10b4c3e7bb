#include "properties/harness/property.hpp"

#include <algorithm>
#include <cmath>

#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

bool inside(const core::tensor& t, const declared_domain& d) {
  const auto& x = t.values.storage();
  return std::all_of(x.begin(), x.end(), [&](double v) { return std::isfinite(v) && v >= d.low && v <= d.high; });
}

// Whether every state of the forward operation lies inside; double precision is enough to decide. If no output holds
// all states, they are computed token by token.
bool states_inside(const test_case& c, const declared_domain& d) {
  const core::operation& forward = reference::forward_of(*c.call.operation);
  if (!forward.recurrent) return true;
  const core::recurrence& r = *forward.recurrent;
  core::tensors inputs;
  for (const auto& declared : forward.inputs) {
    const core::tensor& t = c.call.inputs.at(declared.name);
    inputs.emplace(declared.name, declared.own_type ? t : core::cast(core::dtype::f64, t));
  }
  if (!inside(inputs.at(r.state_in), d)) return false;
  const auto outputs_of = [&](core::tensors tensors) {
    return reference::evaluate({&forward, core::dtype::f64, std::move(tensors), c.call.attributes},
                               reference::accuracy_class::sequential);
  };
  if (!r.states.empty()) return inside(outputs_of(std::move(inputs)).at(r.states), d);
  for (std::size_t token = 0; token < sizes_of(c).at(r.time_axis); ++token) {
    core::tensors one = core::restrict_axis(forward, inputs, r.time_axis, {token});
    const core::tensor state = outputs_of(std::move(one)).at(r.state_out);
    if (!inside(state, d)) return false;
    inputs.at(r.state_in) = state;
  }
  return true;
}

// Prefix sums of an input with a declared domain must not overflow either: n times the largest |x| stays below an
// eighth of the largest finite number.
bool sums_stay_finite(const test_case& c, const core::tensor& t) {
  const auto& x = t.values.storage();
  double largest = 0;
  for (const double v : x) largest = std::max(largest, std::fabs(v));
  const std::size_t tokens = core::size_with(*c.call.operation, sizes_of(c), core::axis_role::token);
  return static_cast<double>(tokens) * largest < core::largest_finite(c.call.type) / 8;
}

}  // namespace

const char* name_of(status s) {
  switch (s) {
    case status::passed:
      return "passed";
    case status::failed:
      return "failed";
    case status::uninformative:
      return "uninformative";
    case status::unsupported:
      return "unsupported";
    case status::outside_domain:
      return "outside the domain";
  }
  return "unknown";
}

bool within_domain(const description& about, const test_case& c) {
  for (const auto& [name, values] : about.settings_of(*c.call.operation))
    if (const auto set = c.call.attributes.find(name);
        set != c.call.attributes.end() && std::find(values.begin(), values.end(), set->second) == values.end())
      return false;
  const core::axis_sizes sizes = sizes_of(c);
  if (const core::operation& op = *c.call.operation;
      op.conflict != nullptr && !op.conflict(core::completed(op, c.call.attributes), sizes).empty())
    return false;
  if (!core::check_rules(*c.call.operation, c.call.inputs)) return false;
  if (about.sizes.contains(c.call.operation->name))
    for (const auto& [symbol, size] : sizes)
      if (!about.sizes_of_axis(*c.call.operation, symbol).holds(size)) return false;
  if (const auto related = about.relations.find(c.call.operation->name); related != about.relations.end())
    for (const axis_relation& r : related->second)
      if (!r.holds(sizes)) return false;
  const auto declared = about.domain.find(c.call.operation->name);
  if (declared == about.domain.end()) return true;
  for (const auto& [name, d] : declared->second) {
    if (name == "state") {
      if (!states_inside(c, d)) return false;
      continue;
    }
    const auto t = c.call.inputs.find(name);
    if (t == c.call.inputs.end()) continue;
    if (!inside(t->second, d)) return false;
    const core::tensor_declaration* input = c.call.operation->input(name);
    if (input->summed_over_time && !sums_stay_finite(c, t->second)) return false;
  }
  return true;
}

bool is_checked(const property& p, const core::operation& op, const description& about) {
  return p.applies(op) && (!p.concerns || p.concerns(about));
}

std::vector<family> families_of(const property& p, const core::operation& op) {
  std::vector<family> all = families_of(op);
  if (p.of_mild_inputs) std::erase_if(all, [](const family& f) { return !f.is_mild; });
  if (!p.families.empty())
    std::erase_if(all, [&](const family& f) {
      return std::find(p.families.begin(), p.families.end(), f.name) == p.families.end();
    });
  return all;
}

}  // namespace assay::properties
