// What an allowance lets pass at the sizes that people run: wrong answers beside right ones.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "properties/harness/case.hpp"

namespace assay::properties {

/// Of one output of a call, over its elements whose truth is above a thousandth of the largest one.
struct blindness {
  std::string output;
  std::size_t elements = 0;
  double plain_error = 0;  ///< the largest error of the formula as it is written, in the precision of the call
  /// What the widest law allows over that: the median of the elements, and the most. Infinite where plain arithmetic
  /// makes no error.
  double median = 0, largest = 0;
  /// Shares of the elements for which zero, the truth with the other sign, and the truth of the next element, row by
  /// row, would pass.
  double zero = 0, other_sign = 0, neighbour = 0;
  /// The median of what is not suspicious (suspicion.hpp) over the plain error, and the share of the elements for which
  /// zero is not.
  double statistical = 0, zero_unsuspicious = 0;
};

/// By output. An output without such an element is left out.
std::vector<blindness> blindness_of(const request& call, const core::precisions& compute);

/// The sizes that are usual for an operation: one row of two heads, 128 queries and keys, 64 features; 4,096 tokens
/// where nothing has pairs of them.
case_key usual_key(const core::operation& op, core::dtype type, std::uint64_t seed);

}  // namespace assay::properties
