// A program in the form of other code: one function where a formula has several steps.
#pragma once

#include <optional>

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// The program with these functions in place of their steps, for allowances alone. Their allowance counts in addition
/// to that of the steps, and narrows nothing. Special values may differ. Nothing where no step is one of these.
///
///   softmax               exp(x) / sum exp(x), less any shift; exp(x - log sum exp(x)) as well
///   tanh                  2 sigmoid(2 x) - 1 as well, as in kernels in Triton
///   log_sum_exp           log sum exp(x), the largest added again or not
///   sigmoid               1 / (1 + exp(-x)), exp(x) / (1 + exp(x))
///   softplus              log(1 + exp(x)), log1p(exp(x)), log_add_exp of 0 and x
///   geometric_frequencies powers of a number with the exponents 0, a, 2a, ... or their negatives: as products, too
///   sine_of_angle, cosine_of_angle    of positions times frequencies, in parts, too
///   erf                   to 6 u of 1, not of itself: Abramowitz and Stegun 7.1.26 is within 1.5e-7, 2.5 u of f32, and
///                         rounds its sum. Measured: on CPUs, GELU of PyTorch 1.13 and 2.13 in f32 is within 9 and 12 u
///                         of 1 + erf, with all its steps
///   x / y                 x (1 / y) as well
std::optional<program> with_blocks(const program& p);

/// The program with softmax in place of exp(x - max x) / sum exp(x - max x), for allowances. A number that is
/// subtracted from a whole row changes no quotient: so an error of the largest, which the steps would carry on, does
/// not count. Nothing where there are no such steps.
std::optional<program> with_softmax(const program& p);

}  // namespace assay::reference::formula
