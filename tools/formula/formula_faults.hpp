// Wrong code by rule: a user formula with one wrong step, described in the words of the formula.
#pragma once

#include <memory>
#include <vector>

#include "properties/harness/catalogue.hpp"
#include "tools/formula/formula_source.hpp"

namespace assay::tools {

/// A mutant for each edit of each step (reference/formula/edits.hpp) that can be located in the function's source: "`i
/// - j` (reference.py:7) the other way round". Empty if the steps are not known, as in a record.
std::vector<properties::variant> formula_faults(const std::shared_ptr<formula_source>& source,
                                                const core::operation& op);

}  // namespace assay::tools
