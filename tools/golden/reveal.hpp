// Which wrong implementations the files of golden sets reveal, and whether an answer that knows nothing passes one.
#pragma once

#include "golden/compare_set.hpp"
#include "properties/harness/catalogue.hpp"

namespace assay::tools {

/// The arithmetic whose allowance the author of an implementation would take: f32 where all that it does to f16 and
/// bf16 is declared to be in f32, or is by default; else that of the tensors.
core::dtype arithmetic_for(const properties::implementation& of, const core::request& call);

/// Whether the printed assertion is false for what an implementation answers; nothing where it offers no answer.
std::optional<bool> is_revealed(properties::implementation& wrong, const golden::golden_file& file);

/// The mutants of the catalogue that a file reveals, but for those that need calls before; and whether it is wide.
golden::revealing all_revealed();

/// An answer that knows nothing and yet passes a file.
struct passing_answer {
  std::string what;  ///< "zeros", "the previous step", "input h", "cotangent grad_s", or as an encoding declares it
  bool is_right = false;  ///< it is the truth
};

/// Those by y:bug of this arithmetic: zeros, the previous step, an input, a cotangent, what the encoding declares ("the
/// maximum for the sum").
std::vector<passing_answer> passed_by(const golden::golden_file& file, core::dtype arithmetic);
/// Whether one of them is wrong.
bool is_vacuous(const golden::golden_file& file, core::dtype arithmetic);

}  // namespace assay::tools
