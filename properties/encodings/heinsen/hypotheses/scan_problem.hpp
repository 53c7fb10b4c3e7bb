// Heinsen's operations in plain double, in a form in which wrong models are easy to write.
#pragma once

#include <functional>
#include <vector>

#include "properties/harness/hypothesis.hpp"

namespace assay::properties::encodings::heinsen {

/// One lane, and the results that a model fills in.
struct scan_lane {
  std::vector<double> a, h;  ///< log p and h of each token
  double s0 = 0;
  std::vector<double> s;  ///< to be filled, as long as h
  double s_n = 0;         ///< to be filled
};

/// All lanes [B, d] of a call, row by row.
struct scan_problem {
  std::size_t batch = 0, tokens = 0, features = 0;
  std::vector<double> gates;  ///< gate logits [B, n, d]; empty if the operation takes log p
  std::vector<scan_lane> lanes;

  [[nodiscard]] scan_lane& lane(std::size_t b, std::size_t j) { return lanes[b * features + j]; }
  [[nodiscard]] double gate(std::size_t b, std::size_t i, std::size_t j) const {
    return gates[(b * tokens + i) * features + j];
  }
};

/// log(e^x + e^y); -inf if both are -inf, NaN if one is NaN.
double log_add_exp(double x, double y);

/// s_i = LSE(a_i + s_{i-1}, h_i), s_n = the last state.
void right_scan(scan_lane& lane);

/// The same with another step; it returns the state after token i.
using scan_step = double (*)(const scan_lane& lane, std::size_t i, double state);
void scan_by(scan_lane& lane, scan_step next);

/// The outputs of one of Heinsen's forward operations whose lanes `model` has filled.
core::tensors forward_outputs(const request& call, const std::function<void(scan_problem&)>& model);

/// One lane of the adjoint.
struct adjoint_lane {
  std::vector<double> w, v;  ///< weights of the carried state and of h
  std::vector<double> grad_s;
  double grad_s_n = 0, s0 = 0;
  std::vector<double> grad_a, grad_h;  ///< to be filled
  double grad_s0 = 0;                  ///< to be filled
};

/// lambda_i = grad_s_i + carry, grad_a_i = carry = w_i lambda_i, grad_h_i = v_i lambda_i. The carry that token i passes
/// to the token before it is multiplied by `passed(i)`.
void right_adjoint(adjoint_lane& lane);
void adjoint_by(adjoint_lane& lane, const std::function<double(std::size_t)>& passed);

/// The outputs of heinsen/scan:vjp or heinsen/gated_scan:vjp whose lanes `model` has filled; lanes are row by row.
core::tensors vjp_outputs(const request& call,
                          const std::function<void(std::vector<adjoint_lane>&, std::size_t features)>& model);

}  // namespace assay::properties::encodings::heinsen
