// Pairs of angle 0 that hold an infinity or a NaN.
#include <cmath>
#include <limits>

#include "properties/encodings/rope/laws/laws.hpp"
#include "properties/encodings/rope/laws/rotary_case.hpp"

namespace assay::properties::encodings::rope {
namespace {

// A NaN in a pair of angle 0 makes its partner NaN, or leaves it as it is; the other pairs stay as they are.
void check_nan_at_angle_0(experiment& e) {
  const auto still = with_positions(e.c, [](double) { return 0.0; });
  e.needs(still.has_value());
  e.needs_domain(*still);
  core::tensors outputs = e.outputs_of(*still);
  const auto& x = still->call.inputs.at("x").values.storage();
  auto& y = outputs.at("y").values.storage();
  bool informative = false;
  for_pairs(rotary_case(*still), [&](std::size_t, std::size_t, std::size_t first, std::size_t second) {
    if (!std::isnan(x[first]) && !std::isnan(x[second])) return;
    informative = true;
    for (const std::size_t i : {first, second}) {
      if (!std::isnan(y[i]) && y[i] != x[i])
        e.wrong(
            fmt::format("y at flat index {} is {:.9g}, where x is {:.9g} and its pair has angle 0 and holds a NaN: "
                        "neither x nor NaN",
                        i, y[i], x[i]));
      y[i] = std::numeric_limits<double>::quiet_NaN();  // as the formula has it
    }
  });
  e.judge(*still, outputs);
  e.count(informative);
}

}  // namespace

bool has_special_value_at_angle_0(const request& call) {
  if (call.operation->input("x") == nullptr) return false;
  const auto& x = call.inputs.at("x").values.storage();
  const auto& position = call.inputs.at("position").values.storage();
  const auto theta = call.inputs.find("theta");
  const rotary_case shape(call);
  bool found = false;
  for_pairs(shape, [&](std::size_t v, std::size_t t, std::size_t first, std::size_t second) {
    if (std::isfinite(x[first]) && std::isfinite(x[second])) return;
    const bool has_frequency = theta == call.inputs.end() || theta->second.values.storage()[t] != 0.0;
    found = found || !has_frequency || position[v / shape.heads()] == 0.0;
  });
  return found;
}

std::vector<property> special_value_laws() {
  return {law("rotation_nan_at_0", "at angle 0 a NaN reaches its partner or leaves it as it is",
              {{"rope/rotate", "rope/rotate_by"}, {"nan_inside"}}, {1, check_nan_at_angle_0})};
}

}  // namespace assay::properties::encodings::rope
