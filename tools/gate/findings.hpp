// What is wrong, or how good it is, in plain sentences.
#pragma once

#include "tools/report/report.hpp"

namespace assay::tools {

/// Adds one sentence for each fault to the report's findings: a hypothesis that explains it, else the facts, as the
/// parts were diagnosed. Faults of derivatives whose own operation is wrong already are not told apart from it. What
/// passed gets a sentence on its rounding, and one on its digits; it is called correct only where the verdict is
/// "passed", which must be known.
void add_findings(const std::vector<part_record>& parts, gate_report& report);

/// The sentence on a check that passed; nothing where the run did not, and the check loses no digits.
/// Precondition: the check decides a class.
std::optional<std::string> sentence_of_passed(const properties::check_result& c, bool run_passed);

}  // namespace assay::tools
