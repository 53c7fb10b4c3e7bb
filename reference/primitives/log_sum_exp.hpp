// log_sum_exp(x, y) = log(exp(x) + exp(y)). Where one term is -inf, the result is the other term.
#pragma once

#include "reference/primitives/readings.hpp"

namespace assay::reference {

value log_sum_exp(const value& x, const value& y);
/// The function increases in both arguments: its ends are the values at two corners.
enclosure log_sum_exp(const enclosure& x, const enclosure& y);
/// The weights w and v are those at the centres; over the ball they grow by at most a quarter of the sum of the two
/// radii.
template <class Number>
ball<Number> log_sum_exp(const ball<Number>& x, const ball<Number>& y);
/// |dr| <= w E_t + v E_h + |s| + |z| min(w, v) + C_e min(w, v) + C_l log1p(exp(-|z|)) + tau. The terms are the errors
/// of the operands, the final addition, the subtraction, exp, log1p and underflow.
tracked log_sum_exp(const tracked& t, const tracked& h);
/// max(x, y) + log1p(exp(-|x - y|)). Special values are handled before the difference is formed.
rounded log_sum_exp(const rounded& x, const rounded& y);

}  // namespace assay::reference
