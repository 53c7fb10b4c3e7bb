// Mutants made by rule, tried on all checks: what catches each, and why a survivor may survive.
#pragma once

#include "properties/harness/detectability.hpp"
#include "properties/harness/kill_table.hpp"

namespace assay::properties {

/// Why nothing caught a mutant.
enum class survival {
  identical,      ///< in all cases tried its outputs are those of the unmutated implementation, bit by bit
  below_the_map,  ///< it differs by less than twice the smallest error that is always caught (detectability.hpp)
  unexplained,    ///< a hole in the gate
};

const char* name_of(survival why);

struct survivor {
  std::string mutant;
  survival why = survival::unexplained;
  std::string detail;
};

/// The mutants of one encoding.
struct generated_trials {
  std::string encoding;
  std::size_t mutants = 0, caught = 0, by_class = 0;
  std::map<std::string, std::size_t> first_by;  ///< captures by property
  std::vector<survivor> survivors;
  [[nodiscard]] std::size_t count(survival why) const;
};

/// Tries all generated mutants of an encoding in one dtype (f32 if `options` names none); classes are pinned to those
/// of the unmutated code. A mutant that a few cases miss without a reason is tried with four times as many.
generated_trials try_generated_mutants(const encoding_tests& tests, const trial_options& options);

}  // namespace assay::properties
