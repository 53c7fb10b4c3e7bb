#include <fmt/format.h>

#include <cmath>

#include "properties/encodings/heinsen/laws/lanes.hpp"
#include "properties/encodings/heinsen/laws/laws.hpp"
#include "properties/laws/laws.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

// h and s0 moved by c, or nothing where an element cannot be moved exactly.
std::optional<core::tensors> moved(const test_case& c, double shift) {
  core::tensors inputs = c.call.inputs;
  for (const char* name : {"h", "s0"})
    for (double& x : inputs.at(name).values.storage()) {
      const double y = x + shift;
      if (core::round_to(c.call.type, y) != y || !(y - shift == x || std::isinf(x))) return std::nullopt;
      x = y;
    }
  return inputs;
}

// Keeps few enough bits of h and s0 that a shift by up to 16 is exact.
test_case on_a_grid(const test_case& c) {
  test_case coarse = c;
  const double grid = std::ldexp(1.0, 6 - core::format_of(c.call.type).precision);
  for (const char* name : {"h", "s0"})
    for (double& x : coarse.call.inputs.at(name).values.storage())
      if (std::isfinite(x)) x = core::round_to(c.call.type, std::nearbyint(x / grid) * grid);
  return coarse;
}

outcome check_shift(implementation& under_test, const test_case& c) {
  const test_case base = on_a_grid(c);
  constexpr double shifts[] = {8, -8, 16, -16, 1, -1};
  const double shift = shifts[c.seed % std::size(shifts)];
  const auto inputs = moved(base, shift);
  test_case there = base;
  if (inputs) there.call.inputs = *inputs;
  if (!inputs) return {status::uninformative};
  const description& about = under_test.describe();
  if (!within_domain(about, base) || !within_domain(about, there)) return {status::outside_domain};
  const call_result here = under_test.evaluate(base.call), moved_there = under_test.evaluate(there.call);
  if (!here) return no_outputs(here.error());
  if (!moved_there) return no_outputs(moved_there.error());
  const core::dtype compute = about.compute_dtype(c.call.type);
  const auto allowed_here = reference::allow(base.call, compute);
  const auto allowed_there = reference::allow(there.call, compute);
  const double u = core::unit_roundoff(compute);
  for (const auto& [name, t] : *here)
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double x = t.values.storage()[i], y = moved_there->at(name).values.storage()[i];
      const double k = allowed_here.at(name).k.back().storage()[i] + allowed_there.at(name).k.back().storage()[i];
      // The last term is this comparison's own rounding.
      const double allowed = bug_slack * u * k + core::half_ulp(c.call.type, x) + core::half_ulp(c.call.type, y) +
                             0x1p-52 * (std::fabs(x) + std::fabs(shift));
      if (core::same_value(x, y - shift) || std::fabs(y - shift - x) <= allowed) continue;
      outcome o{status::failed, fmt::format("h and s0 moved by {}: {} element {} went from {:a} to {:a} ({:.9g} to "
                                            "{:.9g}), allowed deviation {:.3g}",
                                            shift, name, i, x, y, x, y, allowed)};
      o.expected = *here;
      o.actual = *moved_there;
      return o;
    }
  return {};
}

// Along the shift itself, dh = 1 and ds0 = 1 with log p at rest, every finite state moves by 1.
outcome check_shift_direction(implementation& under_test, const test_case& c) {
  core::tensors inputs = c.call.inputs;
  for (const auto& d : reference::forward_of(*c.call.operation).inputs) {
    const bool moves = d.name == "h" || d.name == "s0";
    for (double& x : inputs.at("tangent_" + d.name).values.storage()) x = moves ? 1.0 : 0.0;
  }
  const auto call = measure(under_test, with_inputs(c, std::move(inputs)));
  if (!call) return call.error();
  const auto& op = *c.call.operation;
  for (const lane_position& lane : lanes_of(c)) {
    double largest = c.call.inputs.at("s0").values.storage()[lane.state()];
    for (std::size_t i = 0; i < lane.tokens; ++i) {
      const double decay = log_decay(op, c.call.inputs.at(decay_name(op)).values.storage()[lane.at(i)]);
      largest = std::max(decay + largest, c.call.inputs.at("h").values.storage()[lane.at(i)]);
      const double ds = call->outputs.at("tangent_s").values.storage()[lane.at(i)];
      const double allowed = call->allowed.at("tangent_s")[lane.at(i)], expected = largest == -HUGE_VAL ? 0.0 : 1.0;
      if (!agree(ds, expected, allowed))
        return violated(
            fmt::format("row {} feature {}: moving h and s0 by 1 moves s_{} by {:.9g}, allowed error {:.3g}", lane.row,
                        lane.feature, i + 1, ds, allowed),
            {}, call->outputs);
    }
  }
  return {lanes_of(c).empty() || sizes_of(c).at("n") == 0 ? status::uninformative : status::passed};
}

}  // namespace

property shift_direction_property() {
  property p{"shift_direction", "along dh = 1, ds0 = 1 every state moves by 1"};
  p.applies = [](const core::operation& op) { return is_heinsen_scan(op, core::derivative::jvp); };
  p.check = check_shift_direction;
  return p;
}

property shift_property() {
  return {
      "shift",
      "s(h + c, s0 + c) = s + c",
      [](const core::operation& op) { return op.is_forward() && op.input("h") && op.input("s0") && op.output("s"); },
      check_shift,
      false,
      2};
}

}  // namespace assay::properties::encodings::heinsen
