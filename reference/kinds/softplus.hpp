// softplus as a step of formulas. As log1p(exp(x)) it is of class sequential. log(1 + exp(x)), of class linear, loses
// exp(x) beside 1.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "reference/kinds/recorded_call.hpp"

namespace assay::reference {

/// log(1 + exp(x)) up to 9, and softplus(x) above: exp(x) overflows in f16 from 11.1 on. Above 9 both forms have the
/// same accuracy, as log(1 + exp(x)) is at least 9.
inline formula::traced log_of_sum(const formula::traced& x) {
  const formula::traced most(9.0);
  return either(less(x, most), log(formula::traced(1.0) + exp(either(less(x, most), x, most))), softplus(x));
}

/// The setting `softplus`: above 20 it may be x itself, with the slope 1, as in torch.nn.functional.softplus. The
/// difference, 2e-9, is visible in f64, and not in f32.
inline core::attribute_declaration softplus_setting(const std::string& large_input) {
  return choice("softplus", {"exact", "linear_above_20"}, large_input + ": log(1 + exp(x)), or x above 20");
}
inline formula::traced softplus_by_setting(const recorded_call& in,
                                           const std::function<formula::traced(const formula::traced&)>& exact_softplus,
                                           const formula::traced& x) {
  const formula::traced exact = exact_softplus(x);
  return in.setting<std::string>("softplus") == "exact" ? exact : either(less(formula::traced(20.0), x), x, exact);
}

}  // namespace assay::reference
