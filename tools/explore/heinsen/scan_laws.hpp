// The error that theory and published measurements predict for an algorithm of the recurrence.
//
// To first order an error E_i of the state obeys E_i <= w_i E_{i-1} + (own rounding), where w_i is the carry weight.
// Sequential errors are forgotten; those of prefix sums are roundings of numbers as large as |A_n| = sum |log p|
// (Higham 2002, "Accuracy and Stability of Numerical Algorithms", chapter 4). The constants are root mean squares over
// random inputs and were measured independently of this code, in another language and with other draws.
#pragma once

#include "tools/explore/cell.hpp"

namespace assay::explore {

/// The facts about the inputs that a law needs.
struct scan_facts {
  double log_decay;  ///< |A_n|
  double state;      ///< root mean square of s
};

/// The root mean square error, absolute. NaN if there is no law for the cell: for other inputs, for sequences shorter
/// than the memory, or if no digit is left (the law gives 1 or more).
///
///   gates, mean 0, scale 1:  cumsum 0.58 u |A_n| (0.50 in a wider arithmetic), sequential 0.9 u, tree and
///                            linear 1.2 u
///   gates, mean 4, scale 1:  cumsum 1.9 u |A_n| (0.43 in a wider arithmetic), sequential 11.75 u, tree 4.3 u,
///                            linear 4.4 u
///   constant p, scale 1:     sequential 0.15 u |s| / (1 - p), p >= 0.9
double predicted_rms(const cell& c, const scan_facts& facts);

}  // namespace assay::explore
