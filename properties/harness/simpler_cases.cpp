// Shrinking: what is simpler than a case, the most drastic first.
#include <cmath>
#include <numeric>

#include "properties/harness/case.hpp"

namespace assay::properties {
namespace {

std::vector<std::size_t> range(std::size_t first, std::size_t last) {
  std::vector<std::size_t> r(last - first);
  std::iota(r.begin(), r.end(), first);
  return r;
}

// Restricts an axis to some positions, and the axes that a relation ties to it to the positions that belong to them.
core::tensors restricted_together(const test_case& c, const std::string& axis, const std::vector<std::size_t>& kept) {
  const core::operation& op = *c.call.operation;
  core::tensors inputs = core::restrict_axis(op, c.call.inputs, axis, kept);
  for (const auto& [other, times] : tied_to(axis, c.key.relations)) {
    if (core::attribute_of_axis(op, other) != nullptr) continue;
    std::vector<std::size_t> belonging;
    for (const std::size_t p : kept)
      for (std::size_t j = 0; j < times; ++j) belonging.push_back(p * times + j);
    inputs = core::restrict_axis(op, inputs, other, belonging);
  }
  return inputs;
}

// The values of a setting before this one: the standard value, then those declared earlier.
std::vector<core::attribute> simpler_settings(const core::attribute_declaration& a, const core::attribute& now) {
  if (now == a.standard) return {};
  std::vector<core::attribute> all{a.standard};
  for (const core::attribute& value : a.values) {
    if (value == now) break;
    if (value != a.standard) all.push_back(value);
  }
  return all;
}

// A few numbers simpler than x, the simplest first.
std::vector<double> simpler_numbers(core::dtype type, double x) {
  std::vector<double> all;
  const auto offer = [&](double y) {
    if (std::fabs(y) < std::fabs(x) || (std::isinf(x) && std::isfinite(y)) || std::isnan(x)) all.push_back(y);
  };
  if (x == 0.0 || std::isnan(x)) return all;
  offer(0.0);
  if (std::isinf(x)) return all;
  offer(std::copysign(1.0, x));
  offer(core::round_to(type, std::trunc(x)));
  offer(std::copysign(std::ldexp(1.0, std::ilogb(x)), x));
  return all;
}

// Draws the inputs again, for an operation whose inputs depend on sizes or settings.
void draw_again(test_case& simpler, const test_case& c) {
  const core::operation& op = *c.call.operation;
  if (!op.drawn || (sizes_of(simpler) == sizes_of(c) && simpler.call.attributes == c.call.attributes)) return;
  const core::attributes settings = core::completed(op, simpler.call.attributes);
  for (auto& [name, t] : op.drawn(c.call.type, settings, sizes_of(simpler), c.seed))
    simpler.call.inputs.at(name) = std::move(t);
}

}  // namespace

std::vector<test_case> simpler_cases(const test_case& c) {
  std::vector<test_case> all;
  find_simpler_case(c, [&](const test_case& simpler) {
    all.push_back(simpler);
    return false;
  });
  return all;
}

std::optional<test_case> find_simpler_case(const test_case& c, const std::function<bool(const test_case&)>& wanted) {
  std::optional<test_case> found;
  const auto offer_call = [&](core::tensors inputs, core::attributes settings) {
    test_case simpler = c;
    simpler.call.inputs = std::move(inputs);
    simpler.call.attributes = std::move(settings);
    draw_again(simpler, c);
    if (core::check_request(simpler.call) && wanted(simpler)) found = std::move(simpler);
    return found.has_value();
  };
  const auto offer = [&](core::tensors inputs) { return offer_call(std::move(inputs), c.call.attributes); };
  const core::operation& op = *c.call.operation;
  for (const auto& [axis, size] : sizes_of(c)) {
    const std::string& symbol = axis;
    if (core::attribute_of_axis(op, symbol) != nullptr) continue;
    const auto offer_positions = [&](const std::vector<std::size_t>& kept) {
      return offer(restricted_together(c, symbol, kept));
    };
    if (size > 1)
      for (const auto& kept : {range(0, size / 2), range(size / 2, size), range(0, 1), range(size - 1, size)})
        if (offer_positions(kept)) return found;
    // Single positions are dropped only if few are left: otherwise shrinking would cost a call per token.
    if (size > 2 && size <= 12)
      for (std::size_t dropped = 0; dropped < size; ++dropped) {
        std::vector<std::size_t> kept = range(0, size);
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(dropped));
        if (offer_positions(kept)) return found;
      }
  }
  for (const core::attribute_declaration& a : op.attributes)
    for (const core::attribute& simpler : simpler_settings(a, c.call.attributes.at(a.name))) {
      core::attributes settings = c.call.attributes;
      settings[a.name] = simpler;
      if (offer_call(c.call.inputs, std::move(settings))) return found;
    }
  for (const auto& [name, t] : c.call.inputs) {
    if (t.size() > 24 || op.input(name)->rule == core::value_rule::as_drawn) continue;
    for (std::size_t i = 0; i < t.size(); ++i)
      for (const double y : simpler_numbers(t.type, t.values.storage()[i])) {
        core::tensors inputs = c.call.inputs;
        inputs.at(name).values.storage()[i] = y;
        if (offer(std::move(inputs))) return found;
      }
  }
  return found;
}

}  // namespace assay::properties
