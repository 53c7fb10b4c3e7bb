// Pinning: nothing may get worse than an earlier report, and what is known to fail must fail as it is known to.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/commands.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// An earlier report. Refuses a file that is no whole assay-report/1: what was cut off would count as never checked.
core::result<nlohmann::json> read_report(const std::filesystem::path& path);

/// Whether the run was asked for the operation in the dtype.
bool concerns(const gate_options& options, const std::string& operation, const std::string& dtype);

/// Complains about what got worse: a check that passed and does not pass, or is gone; an accuracy class that is worse;
/// an operation or a dtype that is not offered any more; an error that takes more than twice the share of its allowance
/// or twice the ulps, and digits. What this run was asked to leave out is not missed. Where the lists that the two
/// candidates were written for ask other questions of an operation, its classes and errors are not compared.
void compare_with_baseline(const nlohmann::json& baseline, const gate_options& options, gate_report& report);

/// A check that is expected to fail, and how: as "failed" (its outputs are wrong), in the coarse word of a fault such
/// as "bad output", which covers all kinds of it, or in the precise word of report.json such as "wrong_shape".
struct known_failure {
  std::string property, operation, dtype;
  std::string verdict = "failed";
  std::string reason;
};

/// Lines "property operation dtype [verdict] # reason", or JSON: {"known_failures": [...]} of objects with the members
/// property, operation, dtype, reason, and where it is not "failed", verdict. Every entry needs a reason and names that
/// exist.
core::result<std::vector<known_failure>> read_known_failures(const std::filesystem::path& path);

/// Complains about every listed check that passes, was not run or fails otherwise than listed, and tells which of
/// the report's failed checks are excused. What this run was asked to leave out is not missed.
void compare_with_known_failures(const std::vector<known_failure>& known, const gate_options& options,
                                 gate_report& report);

}  // namespace assay::tools
