// What else is right of an element than its truth. In attention a hidden key has the weight 0, on which programs
// differ:
//
//   a NaN or an infinity of a hidden key    softmax @ v gives NaN, for 0 times NaN is NaN, and so does a mask of -inf
//   (of its value, of the key itself)       that is added to a score of NaN; kernels that skip the key give the number
//   a query that sees no key                0, as fused kernels have it, or NaN, the 0 / 0 of the formula, or the mean
//                                           of all values, seen or not: the lowest finite number in place of -inf makes
//                                           all scores of the row equal, as it outweighs whatever it is added to
//
//   a NaN in a part without keys, merged    the same, of its weight 0
//
// The truth (oracle.hpp) is the number of those who skip, and 0. The gradient of the scores of a row is
// P (dP - sum P dP): one NaN of a row reaches all of it. Where hidden queries or cotangents of NaN meet the weight 0,
// the gradients of keys and values are NaN likewise. NaN stays within its row of the batch, its head or group, and of
// values within its component; elsewhere it is wrong.
//
// All that judges asks here: the verdict, and with it the gate and `judge`. Golden files have one right answer for each
// element: no recipe hides a NaN.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reference/oracle.hpp"

namespace assay::reference {

/// Of an output, in row-major order; empty where there is none at all.
struct other_answers {
  std::vector<std::uint8_t> nan;  ///< whether NaN is right too, where the truth is a number
  std::vector<double> number;     ///< the other number that is right; NaN where there is none
  std::vector<double> k;          ///< its running error bound, in units of u
};

/// Of those outputs that have some. Precondition: `truth` is that of the call.
std::map<std::string, other_answers> other_answers_of(const core::request& call, const certified_outputs& truth);

}  // namespace assay::reference
