// Measures how wide an allowance is at usual sizes, beside the error of right code, and which wrong answers it lets
// pass.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "properties/harness/case.hpp"

namespace assay::properties {

/// The blindness of one output of a call, over its elements whose truth is above a thousandth of the largest one, both
/// without their signs.
struct blindness {
  std::string output;
  std::size_t elements = 0;
  double plain_error = 0;  ///< the largest error of the formula as it is written, in the precision of the call
  /// The allowance of the widest law divided by that error: the median over the elements, and the largest value. It is
  /// infinite where plain arithmetic makes no error.
  double median = 0, largest = 0;
  /// The shares of the elements for which zero, the truth with the other sign, and the truth of the next element (row
  /// by row) would pass.
  double zero = 0, other_sign = 0, neighbour = 0;
  /// The median over the elements of the largest error that is not suspicious (suspicion.hpp), divided by the plain
  /// error; and the share of the elements for which zero is not suspicious.
  double statistical = 0, zero_unsuspicious = 0;
};

/// One entry for each output. An output without such an element is left out.
std::vector<blindness> blindness_of(const request& call, const core::precisions& compute);

/// The usual sizes of an operation: one row of two heads, 128 queries and keys, 64 features; 4,096 tokens if nothing
/// has pairs of tokens.
case_key usual_key(const core::operation& op, core::dtype type, std::uint64_t seed);

}  // namespace assay::properties
