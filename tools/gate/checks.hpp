// The checks of a gate run, one after another.
#pragma once

#include "tools/gate/guarded_candidate.hpp"
#include "tools/gate/selection.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// Runs every selected property on every offered operation and dtype that the smoke stage finds working, measures
/// horizons, and adds what came of it to the report. Progress goes to stderr.
void run_checks(guarded_candidate& candidate, const selection& s, gate_report& report);

}  // namespace assay::tools
