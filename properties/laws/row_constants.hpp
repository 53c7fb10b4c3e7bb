// Scores that are the same after softmax: equal up to a constant for each row. A row holds one query's scores of all
// keys.
#pragma once

#include <optional>
#include <string>

#include "properties/laws/measured.hpp"

namespace assay::properties {

/// Returns the fault if `actual` is not `expected` plus a number for each row, where a row is the last axis of the
/// output. The difference to the row's first finite element must be the same in both, within the errors allowed to the
/// four numbers. Elements that are not finite must agree. Returns nothing if they agree. Precondition: equal shapes.
std::optional<std::string> compare_modulo_row_constants(comparisons& all, const std::string& output,
                                                        const measured_call& expected, const measured_call& actual);

}  // namespace assay::properties
