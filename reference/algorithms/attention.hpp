// The weights of dot-product attention with a logit bias (Vaswani et al. 2017, section 3.2.1; Press et al. 2022,
// section 3):
//
//   S_ij = scale q_i . k_j + b_ij,   P_ij = exp(S_ij) / sum_l exp(S_il),   o_i = sum_j P_ij v_j
//
// b_ij = -inf hides key j from query i: P_ij = 0, whatever k_j and v_j are. A query without any seen key has o = 0 and
// gradients 0, as in fused kernels. Adding one number to a row of b changes nothing.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "reference/readings/reading.hpp"

namespace assay::reference {

/// The weights P of one row of logits. The shift is a double, so it is exact in every reading and cancels. After a NaN
/// among the logits the shift is NaN.
template <class R>
std::vector<R> softmax(const std::vector<R>& logits) {
  double shift = -std::numeric_limits<double>::infinity();
  for (const R& s : logits)
    if (const double x = to_double(s); x > shift || std::isnan(x)) shift = x;
  std::vector<R> weights(logits.size(), R(0.0));
  if (std::isinf(shift) && shift < 0.0) return weights;
  accumulator<R> sum;
  for (std::size_t j = 0; j < logits.size(); ++j) {
    if (is_minus_infinity(logits[j])) continue;
    weights[j] = exp(logits[j] - R(shift));
    sum.add(weights[j]);
  }
  const R total = sum.total();
  for (std::size_t j = 0; j < logits.size(); ++j)
    if (!is_minus_infinity(logits[j])) weights[j] = weights[j] / total;
  return weights;
}

}  // namespace assay::reference
