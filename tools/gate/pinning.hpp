// Pinning: nothing may get worse than in an earlier report, and known failures must fail as they are known to.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/commands.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// Reads an earlier report. Refuses a file that is no complete assay-report/1: missing parts would count as never
/// checked.
core::result<nlohmann::json> read_report(const std::filesystem::path& path);

/// Whether the run was asked to check the operation in the dtype.
bool concerns(const gate_options& options, const std::string& operation, const std::string& dtype);

/// Complains about everything that got worse: a check that passed and now does not, or is gone; a worse accuracy class;
/// an operation or a dtype that is no longer offered; an error that takes more than twice its former share of the
/// allowance, or more than twice its former ulps (on other cases: more than ten times the share); two lost digits.
/// Things that this run was asked to leave out are not missed. If the lists for which the two candidates were written
/// ask different questions of an operation, its classes, digits and errors are not compared. If the baseline was judged
/// against another formula, nothing is compared, and a warning says so.
void compare_with_baseline(const nlohmann::json& baseline, const gate_options& options, gate_report& report);

/// A check that is expected to fail, and how: as "failed" (its outputs are wrong), by the coarse word of a fault such
/// as "bad output", which covers all its kinds, or by the precise word of report.json such as "wrong_shape".
struct known_failure {
  std::string property, operation, dtype;
  std::string verdict = "failed";
  std::string reason;
};

/// Reads lines "property operation dtype [verdict] # reason", or JSON: {"known_failures": [...]} with objects that have
/// the members property, operation, dtype, reason, and verdict if it is not "failed". Every entry needs a reason and
/// existing names.
core::result<std::vector<known_failure>> read_known_failures(const std::filesystem::path& path);

/// Complains about every listed check that passes, was not run, or fails in another way than listed, and marks which of
/// the report's failed checks are excused. Checks that this run was asked to leave out are not missed.
void compare_with_known_failures(const std::vector<known_failure>& known, const gate_options& options,
                                 gate_report& report);

}  // namespace assay::tools
