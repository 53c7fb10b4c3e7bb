// --candidate SPEC: builtin:NAME, process:COMMAND, python:MODULE:FUNCTION[@OPERATION], library:PATH or recorded:DIR.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "properties/harness/implementation.hpp"

namespace assay::tools {

struct candidate_limits {
  // Limits on computing time; ten times as long by the wall clock.
  double start_seconds = 60;  ///< from the start of a program to its hello
  double case_seconds = 30;   ///< for one call
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;
};

/// Why there is no candidate: the specification is wrong (exit 2), or the candidate is faulty (exit 3).
struct candidate_error {
  bool candidate_is_at_fault = false;
  std::string message;
  std::optional<properties::call_failure> failure{};  ///< what its program did
};

tl::expected<std::unique_ptr<properties::implementation>, candidate_error> open_candidate(
    const std::string& spec, const candidate_limits& limits);

/// Seconds after which a call is ended; infinite if there is no limit.
double limit_of_calls(const std::string& spec, const candidate_limits& limits);

}  // namespace assay::tools
