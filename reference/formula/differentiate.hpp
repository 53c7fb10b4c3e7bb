// The gradient of a program is a program: the product of a vector and its Jacobian matrix, in reverse mode.
//
// It works array by array, with one rule for each operator, as in JAX and PyTorch. Nodes of the forward program are
// used where a rule needs them. The cotangents that reach a node from its uses are added up, last use first. Repetition
// by broadcasting is summed. Integers, booleans, `detach` and `floor` let nothing pass: a node that no cotangent
// reaches has the gradient 0, and the branch that `where` does not take gets a 0, never 0 times a number. Nodes of a
// rule have the stage of their node.
//
// The allowance of a gradient is the allowance of this program as it is written, with its sums in any order, and with
// its products.
//
// Conventions; they are those of PyTorch where it gives a number:
//   magnitude      0 at 0
//   maximum        half for each where both are equal, minimum likewise; so a clamp at its bound
//   largest        shared evenly by all that are the largest, as in amax
//   pow            0 in x where y is 0; 0 in y where x is 0 and y is not below 0
//   power          p/q x^(p/q - 1): infinite at 0 below 1, and NaN times a cotangent of 0
//   log, log1p     1 / x and 1 / (1 + x) also where the function itself has no value
//   log_sum_exp    0 in a row of -inf alone; NaN where one is inf
//   log_add_exp    0 where both are -inf; NaN where both are inf
//   softmax        NaN where the row has no softmax. For allowances the mean sum_j g_j y_j may also be G . o, where the
//                  only use of the weights is o = sum_j y_j v_j with the cotangent G, as in kernels of attention
//   right_as_well  g for x, where 0 is right as well, and 0 for y, where g is right as well
//   tanh, sigmoid  by products of sigmoids, which lose no digits far from 0; for allowances also by 1 - tanh^2 and
//                  s (1 - s), as in frameworks
//   erf            2 / sqrt(pi) exp(-x^2)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// Forms of a gradient.
struct gradient_form {
  bool is_for_proofs = false;             ///< enclosures lose fewer digits in this form, and no program computes it
  bool keeps_digits_of_sigmoids = false;  ///< allowances do not include s (1 - s)
};

/// Inputs: those of p, and after them grad_NAME for every real output, with its shape. Outputs: grad_NAME for every
/// real input, or for those with these names. An error where p has none of these inputs, or has its own input
/// grad_NAME, or where the gradient exceeds the limits of programs.
///
///     const auto gradient = formula::differentiate(p, {{"scores", "slopes"}});
///     if (!gradient) throw std::runtime_error(gradient.error().message);
core::result<program> differentiate(const program& p, const std::optional<std::vector<std::string>>& names = {},
                                    gradient_form form = {});

/// The same for magnitudes: the sum of the terms of a gradient of `forward`, each term without its sign. Nothing
/// cancels in it.
///
///     const auto terms = formula::magnitudes_of_terms(*formula::differentiate(p), p);
core::result<program> magnitudes_of_terms(const program& gradient, const program& forward);

}  // namespace assay::reference::formula
