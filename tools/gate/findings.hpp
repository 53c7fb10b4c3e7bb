// Plain sentences that say what is wrong, or how accurate the candidate is.
#pragma once

#include "tools/report/report.hpp"

namespace assay::tools {

/// Adds one sentence for each fault to the report's findings: a hypothesis that explains it, else the facts, from the
/// diagnosis of each part. Faults of derivatives whose own operation is wrong are not listed separately. Each part that
/// passed gets a sentence on its rounding, and each function one on its digits. A part is called correct only if the
/// whole run passed. Precondition: the verdict of the report is set.
void add_findings(const std::vector<part_record>& parts, gate_report& report);

/// The sentence on a check that passed. Nothing if the run did not pass, unless the check is suspicious or loses
/// digits. Precondition: the check decides a class.
std::optional<std::string> sentence_of_passed(const properties::check_result& c, bool run_passed);

}  // namespace assay::tools
