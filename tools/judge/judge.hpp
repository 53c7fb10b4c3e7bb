// `assay truth` and `assay judge`: the truth of one call with its allowances, and whether given outputs are right.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/judge/requested_call.hpp"

namespace assay::tools {

/// Writes every output, correctly rounded, and with it "NAME:allowed" in f64: the error that each element may have
/// (golden/expected_outputs.hpp).
core::result<void> write_truth(const requested_call& requested, const std::filesystem::path& out);

struct judgement {
  bool right = true;
  std::string words;  ///< what is wrong, or how accurate it is, one sentence on each line
};
/// Judges the outputs in a file. An error if the file holds none, with the same messages as the gate has for a
/// candidate.
core::result<judgement> judge_outputs(const requested_call& requested, const std::filesystem::path& outputs);

/// Adds the operation formula/NAME. The first text is "NAME=FILE", the others are "FILE": programs (assay-program/1)
/// that compute the same function in other ways. Call it before the first look-up of an operation.
core::result<void> add_formula(const std::vector<std::string>& files);

}  // namespace assay::tools
