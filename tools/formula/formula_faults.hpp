// Wrong code by rule: a formula of one's own with one step of it wrong, in the words of the formula.
#pragma once

#include <memory>
#include <vector>

#include "properties/harness/catalogue.hpp"
#include "tools/formula/formula_source.hpp"

namespace assay::tools {

/// A mutant for each edit of each step (reference/formula/edits.hpp) that the function's source tells apart:
/// "`i - j` (reference.py:7) the other way round". None where the steps are not known, as in a record.
std::vector<properties::variant> formula_faults(const std::shared_ptr<formula_source>& source,
                                                const core::operation& op);

}  // namespace assay::tools
