// A program as others compute it: what a formula writes out in steps, code has as one function.
#pragma once

#include <optional>

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// The program with these in place of their steps, for allowances alone: what they allow stands beside what the steps
/// allow, and narrows nothing. Special values may be others. Nothing where no step is one of them.
///
///   softmax               exp(x) / sum exp(x), less any shift; exp(x - log sum exp(x)) as well
///   tanh                  2 sigmoid(2 x) - 1 as well, as kernels in Triton have it
///   log_sum_exp           log sum exp(x), the largest added again or not
///   sigmoid               1 / (1 + exp(-x)), exp(x) / (1 + exp(x))
///   softplus              log(1 + exp(x)), log1p(exp(x)), log_add_exp of 0 and x
///   geometric_frequencies powers of a number whose exponents are 0, a, 2a, ... or the same negated: as products, too
///   sine_of_angle, cosine_of_angle    of positions times frequencies, in parts, too
///   erf                   to 6 u of 1, not of itself: Abramowitz and Stegun 7.1.26 is within 1.5e-7, 2.5 u of f32, and
///                         rounds its sum. Measured: PyTorch 1.13 and 2.13 on CPUs have GELU in f32 within 9 and 12 u
///                         of 1 + erf, all its steps together
///   x / y                 x (1 / y) as well
std::optional<program> with_blocks(const program& p);

/// The program with softmax in place of exp(x - max x) / sum exp(x - max x), for allowances: whatever is subtracted
/// from all of a row changes no quotient, so that an error of the largest, which the steps carry on, is none. Nothing
/// where there are no such steps.
std::optional<program> with_softmax(const program& p);

}  // namespace assay::reference::formula
