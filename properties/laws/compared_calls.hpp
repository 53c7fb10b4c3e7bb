// Several calls compared: what laws that compare whole calls, or two operations, share.
#pragma once

#include <string>
#include <vector>

#include "properties/laws/approximate.hpp"
#include "properties/laws/measured.hpp"

namespace assay::properties {

/// The positions 0, 1, .., size - 1.
std::vector<std::size_t> every(std::size_t size);

/// The positions first, .., last - 1.
std::vector<std::size_t> span_of(std::size_t first, std::size_t last);

/// The flat indices of the elements of core::take, in its order: the elements at the given positions of one axis.
std::vector<std::size_t> taken(const core::shape& shape, std::size_t axis, const std::vector<std::size_t>& positions);

/// One element of an output, with the error allowed to it.
approximate element(const measured_call& call, const std::string& output, std::size_t index);

/// Compares `actual[to[i]]` with `expected[from[i]]` for all i, element by element of one output, within the sum of the
/// errors allowed to both; nothing if they agree.
std::optional<std::string> compare_elements(comparisons& all, const std::string& output, const measured_call& expected,
                                            const std::vector<std::size_t>& from, const measured_call& actual,
                                            const std::vector<std::size_t>& to);

/// Compares all outputs of two calls of one operation, element by element.
std::optional<std::string> compare_outputs(comparisons& all, const measured_call& expected,
                                           const measured_call& actual);

/// The first element whose bits differ, in words; nothing if there is none. All NaNs count as equal, and both zeros.
std::optional<std::string> compare_bits(comparisons& all, const core::tensors& expected, const core::tensors& actual);

}  // namespace assay::properties
