// Makes the report from the parts of a run, whatever process ran them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/gate/pinning.hpp"
#include "tools/gate/selection.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// The pins with which a run is compared, in addition to the truth.
struct pins {
  std::optional<nlohmann::json> baseline;
  std::vector<known_failure> known;
};
core::result<pins> read_pins(const gate_options& o);

/// A report with the requested options; its verdict is "broken" until parts are added.
gate_report empty_report(const gate_options& o);

/// Adds the parts to a report that knows its candidate, and everything that follows from them: complaints, findings,
/// the verdict. `cut_short` says why parts are missing, or why the last one is incomplete. Then no baseline is
/// compared, and known failures are compared only if their checks were run. A run that would have passed is broken:
/// nobody knows what the missing parts would have found.
void assemble(const gate_options& options, const selection& selected, const std::vector<part_record>& parts,
              const pins& pinned, gate_report& report, const std::string& cut_short = "");

/// Writes the report and prints its summary. Returns the exit code of a gate with this verdict.
int publish(const gate_report& report, const std::filesystem::path& folder, const std::string& output_format);

}  // namespace assay::tools
