// Finds the wrong implementations that the files of golden sets reveal, and the files that an answer without any
// knowledge passes.
#pragma once

#include "golden/compare_set.hpp"
#include "properties/harness/catalogue.hpp"

namespace assay::tools {

/// The arithmetic whose allowance the author of an implementation would take: f32 if all its computing in f16 and bf16
/// is declared to be in f32, or is by default; else the arithmetic of the tensors.
core::dtype arithmetic_for(const properties::implementation& code, const core::request& call);

/// Whether the printed assertion is false for the outputs of an implementation; nothing if it gives no outputs.
std::optional<bool> is_revealed(properties::implementation& wrong, const golden::golden_file& file);

/// The mutants of the catalogue that a file reveals, except those that need earlier calls; and whether the file is
/// wide.
golden::revealing all_revealed();

/// An answer that knows nothing but passes a file.
struct passing_answer {
  /// "zeros", "the previous step", "input h", "cotangent grad_s", or an answer that an encoding declares.
  std::string what;
  bool is_right = false;  ///< it equals the truth
};

/// The answers that pass y:bug of this arithmetic: zeros, the previous step, an input, a cotangent, and what the
/// encoding declares ("the maximum for the sum").
std::vector<passing_answer> passed_by(const golden::golden_file& file, core::dtype arithmetic);
/// Whether some wrong answer of this kind passes.
bool is_vacuous(const golden::golden_file& file, core::dtype arithmetic);

}  // namespace assay::tools
