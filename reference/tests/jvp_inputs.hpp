// Inputs of heinsen/scan:jvp for one lane.
#pragma once

#include <vector>

#include "reference/core/operation.hpp"
#include "reference/tests/lanes.hpp"

namespace assay::reference::testing {

inline core::tensors jvp_inputs(core::dtype t, const std::vector<double>& a, const std::vector<double>& h, double s0,
                                const std::vector<double>& da, const std::vector<double>& dh, double ds0) {
  const core::shape tokens{1, h.size(), 1}, state{1, 1};
  return {{"log_p", core::make_tensor(t, tokens, a)},      {"h", core::make_tensor(t, tokens, h)},
          {"s0", core::make_tensor(t, state, {s0})},       {"tangent_log_p", core::make_tensor(t, tokens, da)},
          {"tangent_h", core::make_tensor(t, tokens, dh)}, {"tangent_s0", core::make_tensor(t, state, {ds0})}};
}

}  // namespace assay::reference::testing
