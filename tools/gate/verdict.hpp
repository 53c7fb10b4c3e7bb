// The verdict on a whole gate run, from its checks.
#pragma once

#include "tools/gate/selection.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// Complains about every fault of the smoke stage.
void complain_about_adapter(gate_report& report);

/// Warns about operations and dtypes that the candidate offers and Assay does not know.
void warn_about_hello(gate_report& report);

/// Complains about each operation that was requested by name and is offered in no selected dtype, and about each
/// requested dtype in which no selected operation is offered.
void complain_about_missing(const gate_options& options, const selection& s, gate_report& report);

/// Complains if no check gave a verdict, about parts that no check compared with the truth, and about classes and
/// digits that are required and not reached.
void complain_about_gaps(const selection& s, const std::vector<part_record>& parts, gate_report& report);

/// Under --strict: complains about errors that roundings hardly make.
void complain_about_suspicions(gate_report& report);

/// Broken if every check met a fault of the process; else failed if a check failed or met one, or if there is a
/// complaint. A check that is a known failure does not count as failed.
gate_verdict verdict_of(const gate_report& report);

}  // namespace assay::tools
