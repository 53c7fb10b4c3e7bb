// The checks of a gate run, one after another.
#pragma once

#include "tools/gate/selection.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// Runs every selected property on every offered operation and dtype, measures horizons, and adds what came of it
/// to the report. Progress goes to stderr.
void run_checks(properties::implementation& candidate, const selection& s, gate_report& report);

}  // namespace assay::tools
