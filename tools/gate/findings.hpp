// What is wrong, or how good it is, in plain sentences.
#pragma once

#include "tools/report/report.hpp"

namespace assay::tools {

/// Adds one sentence for each fault to the report's findings: a hypothesis that explains it, else the facts, as the
/// parts were diagnosed. What loses digits gets a sentence too; it is called right only where the verdict is "passed",
/// which must be known. Faults of
/// derivatives whose own operation is wrong already are not told apart from it.
void add_findings(const std::vector<part_record>& parts, gate_report& report);

}  // namespace assay::tools
