// Several calls beside one another: what laws that compare whole calls, or two operations, share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "properties/laws/approximate.hpp"
#include "properties/laws/measured.hpp"

namespace assay::properties {

/// 0, 1, .., size - 1.
std::vector<std::size_t> every(std::size_t size);

/// first, .., last - 1.
std::vector<std::size_t> span_of(std::size_t first, std::size_t last);

/// The flat indices of what core::take gives, in its order: the elements at the given positions of one axis.
std::vector<std::size_t> taken(const core::shape& shape, std::size_t axis, const std::vector<std::size_t>& positions);

/// One element of an output, with the error that it is allowed.
approximate element(const measured_call& call, const std::string& output, std::size_t index);

/// Compares `actual[to[i]]` with `expected[from[i]]` for all i, element by element of one output, each within the
/// errors allowed to both; nothing where they agree.
std::optional<std::string> compare_elements(comparisons& all, const std::string& output, const measured_call& expected,
                                            const std::vector<std::size_t>& from, const measured_call& actual,
                                            const std::vector<std::size_t>& to);

/// All outputs of two calls of one operation, element by element.
std::optional<std::string> compare_outputs(comparisons& all, const measured_call& expected,
                                           const measured_call& actual);

/// The first element whose bits differ (NaNs and zeros aside); nothing where there is none.
std::optional<std::string> compare_bits(comparisons& all, const core::tensors& expected, const core::tensors& actual);

/// The part of the operation that a call is of, forward or a derivative, of another forward operation:
/// "attention/output" beside "fox/attention:vjp" is "attention/output:vjp". Nothing where this build has none.
const core::operation* beside(const core::operation& op, std::string_view forward);

}  // namespace assay::properties
