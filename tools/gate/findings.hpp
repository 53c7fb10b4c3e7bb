// What is wrong, or how good it is, in plain sentences.
#pragma once

#include "tools/gate/guarded_candidate.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// Asks the candidate again where checks failed, and adds one sentence for each fault to the report's findings: a
/// hypothesis that explains it, else the facts. What is right but loses digits gets a sentence too. Faults of
/// derivatives whose own operation is wrong already are not told apart from it.
void add_findings(guarded_candidate& candidate, gate_report& report);

}  // namespace assay::tools
