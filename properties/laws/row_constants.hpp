// Scores that are the same after softmax: equal up to a constant for each row, one query's scores of all keys.
#pragma once

#include <optional>
#include <string>

#include "properties/laws/measured.hpp"

namespace assay::properties {

/// What is wrong where `actual` is not `expected` plus a number for each row, the last axis of the output: the
/// difference to the row's first finite element must be the same in both, within the errors allowed to the four
/// numbers. Elements that are not finite must agree. Nothing where they agree. Precondition: equal shapes.
std::optional<std::string> compare_modulo_row_constants(comparisons& all, const std::string& output,
                                                        const measured_call& expected, const measured_call& actual);

}  // namespace assay::properties
