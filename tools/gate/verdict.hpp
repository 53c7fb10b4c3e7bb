// The verdict on a whole gate run, from its checks.
#pragma once

#include "tools/gate/selection.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// Complains about every fault of the smoke stage.
void complain_about_adapter(gate_report& report);

/// Warns about operations and dtypes that the candidate offers and Assay does not know.
void warn_about_hello(gate_report& report);

/// Complains about everything that was requested by name and is not offered, about an operation without any dtype, and
/// about a dtype without any operation.
void complain_about_missing(const gate_options& options, const selection& s, gate_report& report);

/// Complains about offered operations without an executed core check: they make the run red.
void complain_about_gaps(const selection& s, const std::vector<part_record>& parts, gate_report& report);

/// Under --strict: complains about errors that roundings hardly make.
void complain_about_suspicions(gate_report& report);

/// Broken if every check met a fault of the process; failed if one failed or there is a complaint.
gate_verdict verdict_of(const gate_report& report);

}  // namespace assay::tools
