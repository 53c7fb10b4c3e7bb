// `assay truth` and `assay judge`: the truth of one call and what is allowed of it, and whether its outputs are right.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/judge/asked_call.hpp"

namespace assay::tools {

/// Writes every output, correctly rounded, and beside it "NAME:allowed" in f64: the error that each element may have
/// (golden/expected_outputs.hpp).
core::result<void> write_truth(const asked_call& asked, const std::filesystem::path& out);

struct judgement {
  bool right = true;
  std::string words;  ///< what is wrong, or how right it is, a sentence a line
};
/// Of outputs in a file. An error where they are none, with the words that the gate has for a candidate.
core::result<judgement> judge_outputs(const asked_call& asked, const std::filesystem::path& outputs);

/// Adds the operation formula/NAME of "NAME=FILE", a program (assay-program/1). Before the first look-up.
core::result<void> add_formula(const std::vector<std::string>& files);

}  // namespace assay::tools
