// What is wrong, or how good it is, in plain sentences.
#pragma once

#include "tools/report/report.hpp"

namespace assay::tools {

/// Adds one sentence for each fault to the report's findings: a hypothesis that explains it, else the facts, as the
/// parts were diagnosed. What loses digits gets a sentence too; it is called right only where the verdict is "passed",
/// which must be known. Faults of
/// derivatives whose own operation is wrong already are not told apart from it.
void add_findings(const std::vector<part_record>& parts, gate_report& report);

/// The words for a class, and for an error that none explains: `ratio` is that of the widest law over its slack.
std::string class_words(reference::accuracy_class reached);
std::string no_class_words(const core::operation& op, double ratio);

}  // namespace assay::tools
