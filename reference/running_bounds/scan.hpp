// Running bounds of the log-linear recurrence s_i = LSE(log_p_i + s_{i-1}, h_i) and of its derivatives, for many lanes
// at once. The bounds are derived beside the kernels, in running_bounds/kernels.
//
// Numbers are rounded to nearest, and subnormal numbers are kept (no FTZ, no DAZ): the bounds rely on both.
//
// Special values: -inf is exact in log_p, h and s0, and both infinities are exact in gate logits. A lane that holds any
// other infinity, NaN, or a number of 2^900 or more by magnitude stays undecided.
#pragma once

#include "reference/rung_output.hpp"

namespace assay::reference::running {

/// Inputs log_p, h [B, n, d], s0 [B, d]; outputs s [B, n, d], s_n [B, d].
rung_outputs bound_scan(const core::request& call, doubles doubles_per_number);
/// Inputs of the scan, and cotangents grad_s, grad_s_n; outputs grad_log_p, grad_h [B, n, d], grad_s0 [B, d].
rung_outputs bound_scan_vjp(const core::request& call, doubles doubles_per_number);
/// Inputs of the scan, and tangent_log_p, tangent_h, tangent_s0; outputs tangent_s [B, n, d], tangent_s_n [B, d].
rung_outputs bound_scan_jvp(const core::request& call, doubles doubles_per_number);

/// The same functions with gate logits g [B, n, d] in place of log_p = log sigmoid(g).
rung_outputs bound_gated_scan(const core::request& call, doubles doubles_per_number);
rung_outputs bound_gated_scan_vjp(const core::request& call, doubles doubles_per_number);
rung_outputs bound_gated_scan_jvp(const core::request& call, doubles doubles_per_number);

}  // namespace assay::reference::running
