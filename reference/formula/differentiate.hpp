// The gradient of a program is a program: the product of a vector and its Jacobian matrix, in reverse mode.
//
// Array by array and one rule an operator, as JAX and PyTorch have it. Nodes of the forward program are used where a
// rule needs them; what reaches a node from its uses is added up, last use first; what broadcasting has repeated is
// summed. Integers, booleans, `detach` and `floor` let nothing pass: what no cotangent reaches has the gradient 0, and
// the branch that `where` does not take gets a 0, never 0 times something. Nodes of a rule have the stage of their
// node.
//
// An allowance of a gradient is that of this program as it is written: of these sums, in any order, and of these
// products.
//
// Conventions, those of PyTorch where it has one number:
//   magnitude      0 at 0
//   maximum        halves where both are the same, minimum alike; so a clamp at its bound
//   largest        evenly shared by all that are the largest, as amax
//   pow            0 in x where y is 0; 0 in y where x is 0 and y is not below 0
//   power          p/q x^(p/q - 1): infinite at 0 below 1, and NaN times a cotangent of 0
//   log, log1p     1 / x and 1 / (1 + x) also where the function itself has no value
//   log_sum_exp    0 in a row of -inf alone, log_add_exp alike; NaN where one is inf
//   softmax        NaN where the row has no softmax; for allowances the mean sum_j g_j y_j is G . o, too, where all
//                  that the weights reach is o = sum_j y_j v_j, as kernels of attention have it
//   right_as_well  g for x, of which 0 is right as well, and 0 for y, of which g is
//   tanh, sigmoid  by products of sigmoids, which lose no digits far from 0; for allowances by 1 - tanh^2 and s (1 -
//   s),
//                  too, as frameworks have them
//   erf            2 / sqrt(pi) exp(-x^2)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// Forms of a gradient.
struct gradient_form {
  bool is_for_proofs = false;             ///< enclosures lose fewer digits in it, and nobody computes it
  bool keeps_digits_of_sigmoids = false;  ///< allowances have no s (1 - s)
};

/// Inputs: those of p, and behind them grad_NAME for every real output, of its shape. Outputs: grad_NAME for every real
/// input, or for those that `of` names. An error: p has no such input, an input grad_NAME of its own, or a gradient
/// that exceeds the limits of programs.
core::result<program> differentiate(const program& p, const std::optional<std::vector<std::string>>& of = {},
                                    gradient_form how = {});

/// The same of magnitudes: the sum of what is added up to a gradient of `forward`, each term without its sign. Nothing
/// cancels in it.
core::result<program> magnitudes_of_terms(const program& gradient, const program& forward);

}  // namespace assay::reference::formula
