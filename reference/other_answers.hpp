// Right answers for an element other than its truth. In attention a hidden key has the weight 0, and programs differ on
// what that means:
//
//   a NaN or an infinity of a hidden key    softmax @ v gives NaN, for 0 times NaN is NaN, and so does a mask of -inf
//   (of its value, of the key itself)       that is added to a score of NaN; kernels that skip the key give the number
//   a query that sees no key                0, as in fused kernels, or NaN, the 0 / 0 of the formula, or the mean
//                                           of all values, seen or not: the lowest finite number in place of -inf makes
//                                           all scores of the row equal, as it outweighs whatever it is added to
//
//   a NaN in a part without keys, merged    the same, since its weight is 0
//
// The truth (oracle.hpp) is the number that programs give which skip the key, and 0 for a query without keys. The
// gradient of the scores of a row is P (dP - sum P dP): one NaN of a row reaches all of it. Where hidden queries or
// cotangents of NaN meet the weight 0, the gradients of keys and values are NaN likewise. A NaN stays within its row of
// the batch and its head or group; a NaN of values stays within its component. A NaN anywhere else is wrong.
//
// The verdict uses these answers, and so do the gate and `judge`. Golden files have one right answer for each element:
// in their inputs no mask hides a NaN.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reference/oracle.hpp"

namespace assay::reference {

/// The other answers for one output, in row-major order; empty where there is none at all.
struct other_answers {
  std::vector<std::uint8_t> nan;  ///< whether NaN is also right, where the truth is a number
  std::vector<double> number;     ///< another number that is right; NaN where there is none
  std::vector<double> k;          ///< the running error bound of that number, in units of u
};

/// The other answers of those outputs that have some. Precondition: `truth` is the truth of the call.
std::map<std::string, other_answers> other_answers_of(const core::request& call, const certified_outputs& truth);

}  // namespace assay::reference
