#include <cmath>

#include "properties/encodings/heinsen/laws/lanes.hpp"
#include "properties/encodings/heinsen/laws/laws.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

double shift_of(const test_case& c) {
  constexpr double shifts[] = {8, -8, 16, -16, 1, -1};
  return shifts[c.seed % std::size(shifts)];
}

// The case with h and s0 shifted by c; nothing if an element cannot be shifted exactly.
std::optional<test_case> moved(test_case c) {
  const double shift = shift_of(c);
  for (const char* name : {"h", "s0"})
    for (double& x : c.call.inputs.at(name).values.storage()) {
      const double y = x + shift;
      if (core::round_to(c.call.type, y) != y || !(y - shift == x || std::isinf(x))) return std::nullopt;
      x = y;
    }
  return c;
}

// Keeps so few bits of h and s0 that a shift by up to 16 is exact.
std::optional<test_case> on_a_grid(test_case c) {
  const double grid = std::ldexp(1.0, 6 - core::format_of(c.call.type).precision);
  for (const char* name : {"h", "s0"})
    for (double& x : c.call.inputs.at(name).values.storage())
      if (std::isfinite(x)) x = core::round_to(c.call.type, std::nearbyint(x / grid) * grid);
  return c;
}

// s(h + c, s0 + c) = s + c.
void compare_moved(experiment& e, const measured_call& here, const measured_call& there, const std::string& what) {
  for (const auto& [name, t] : here.outputs)
    for (std::size_t i = 0; i < t.size(); ++i)
      e.equal(element(here, name, i), element(there, name, i) - exactly(shift_of(e.c)), scale_of_states,
              "{} by {}: {} element {}, and moved back", what, shift_of(e.c), name, i);
}

// Along the direction of the shift (dh = 1, ds0 = 1, log p fixed) every finite state moves by 1.
void check_shift_direction(experiment& e) {
  test_case along = e.c;
  for (const auto& d : reference::forward_of(*e.c.call.operation).inputs) {
    const bool moves = d.name == "h" || d.name == "s0";
    for (double& x : along.call.inputs.at("tangent_" + d.name).values.storage()) x = moves ? 1.0 : 0.0;
  }
  const measured_call& call = e.call(along);
  for_lanes(e, e.c, [&](const lane_position& lane) {
    const lane_inputs x(e.c, lane);
    for (std::size_t i = 0; i < lane.tokens; ++i)
      e.equal(exactly(x.largest[i + 1] == -HUGE_VAL ? 0.0 : 1.0), element(call, "tangent_s", lane.at(i)), 1.0,
              "by how much s_{} should move and moves where h and s0 move by 1", i + 1);
  });
}

}  // namespace

std::vector<property> shift_laws() {
  return {law("shift", "s(h + c, s0 + c) = s + c", scans(),
              agree_between(on_a_grid, then(on_a_grid, moved), "h and s0 moved", compare_moved)),
          law("shift_direction", "along dh = 1, ds0 = 1 every state moves by 1",
              {{"heinsen/scan:jvp", "heinsen/gated_scan:jvp"}}, {1, check_shift_direction})};
}

}  // namespace assay::properties::encodings::heinsen
