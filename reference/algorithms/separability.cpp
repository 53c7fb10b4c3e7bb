#include "reference/algorithms/separability.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/readings/rounded.hpp"

namespace assay::reference {

double two_level_controls::log_p() const {
  const computing_in format(core::dtype::f64);
  return log_sigmoid(rounded(gate_logit)).number;
}

two_level_controls open_loop(double margin) {
  return {-(2.0 * margin + std::numbers::ln2), margin, -(margin + std::numbers::ln2)};
}

double sign_bands::margin() const { return std::min(plus_low, -minus_high); }

sign_bands bands_of(double log_p, double h_plus, double h_minus) {
  const computing_in format(core::dtype::f64);
  const double highest = h_plus - std::log(-std::expm1(log_p));
  return {h_plus, highest, h_minus, log_sum_exp(rounded(log_p + highest), rounded(h_minus)).number};
}

}  // namespace assay::reference
