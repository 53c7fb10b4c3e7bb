// What a gate run found, and its two readings: report.json for machines, summary.md for people.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "properties/horizon.hpp"
#include "properties/support/runner.hpp"

namespace assay::tools {

enum class gate_verdict { passed, failed, broken };
const char* name_of(gate_verdict v);

struct measured_horizon {
  const core::operation* operation = nullptr;
  core::dtype type{};
  properties::horizon found;
};

/// Why the checks of an operation in a dtype were not run: not even a mild case or an empty one works.
struct adapter_fault {
  const core::operation* operation = nullptr;
  core::dtype type{};
  std::string kind;     ///< the name of a properties::fault, or "NaN flood"
  std::string message;  ///< what happened
  std::string on;       ///< in which case
};

/// A failed check that was known to fail.
struct excused_check {
  std::string property, operation, dtype, reason;
};

struct gate_report {
  std::string candidate_spec;
  properties::description candidate;
  std::uint64_t seed = 0;
  std::string effort;
  std::vector<properties::check_result> checks;
  std::vector<measured_horizon> horizons;
  /// Faults of the run as a whole: an operation that executed no core check, a class not good enough.
  std::vector<std::string> complaints;
  gate_verdict verdict = gate_verdict::passed;
  /// What is wrong, or how good it is, in plain sentences.
  std::vector<std::string> findings;
  /// What looks like a mistake and fails nothing, such as an unknown operation in the candidate's hello.
  std::vector<std::string> warnings;
  std::vector<adapter_fault> adapter_faults;
  std::vector<excused_check> excused;
  /// Where only part of the checks was asked for.
  std::vector<std::string> only_properties, only_families;
};

/// schema assay-report/1. The last member says complete: a report without it is truncated.
nlohmann::ordered_json to_json(const gate_report& r);
std::string to_markdown(const gate_report& r);

/// File name of a counterexample in the folder counterexamples/.
std::string counterexample_name(const properties::check_result& c);

/// Makes the folder, without anything of an earlier run: it would be taken for this one's.
core::result<void> prepare_report(const std::filesystem::path& folder);

/// Writes report.json, summary.md and counterexamples/*.json, each under a temporary name first.
core::result<void> write_report(const gate_report& r, const std::filesystem::path& folder);

}  // namespace assay::tools
