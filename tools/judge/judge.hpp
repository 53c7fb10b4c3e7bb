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

struct asked_by_command {
  asked_words words{};
  std::vector<std::string> settings{};  ///< "layout=half_split"
  std::string compute{};                ///< "f32", or "angle=f32,product=bf16"
  std::filesystem::path file{};         ///< where the truth goes, or where the outputs are
};
int truth(const asked_by_command& asked);
int judge(const asked_by_command& asked);
/// Adds the operation formula/NAME of "NAME=FILE", a program (assay-program/1). Before the first look-up.
core::result<void> add_formula(const std::vector<std::string>& files);

/// Answers one question a line of stdin by one line of stdout, JSON both, until stdin ends:
///   {"id": 1, "ask": "truth", "operation": "rope/rotate", "inputs": "a.safetensors", "outputs": "b.safetensors",
///    "dtype": "f32", "settings": {"layout": "half_split"}, "compute": "f32", "class": "sequential", "strict": true,
///    "limit": 60}
///   {"id": 1, "ok": true} or, of "ask": "judge", {"id": 1, "ok": true, "right": false, "words": "..."}
///   or {"id": 1, "ok": false, "error": "..."}
/// The last six members may be left out. What the Python package asks through. `formula`: see add_formula; or empty.
int serve(const std::vector<std::string>& formula);

}  // namespace assay::tools
