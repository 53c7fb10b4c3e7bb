#include "reference/algorithms/saturation.hpp"

#include <cmath>

namespace assay::reference {

double predicted_cumsum_failure(double u, double margin, double log_p) { return margin / (u * std::fabs(log_p)); }

double fixed_point(double p, double h) { return h - std::log1p(-p); }

saturation predicted_saturation(core::dtype type, double p, double h, double s0) {
  const double limit = fixed_point(p, h);
  const double first_step = std::fabs(std::expm1(s0 - limit)) * (1.0 - p), resolved = core::half_ulp(type, limit);
  return {std::log(resolved / first_step) / std::log(p), first_step > resolved};
}

bool growth_stops(core::dtype type, double s, double h) {
  return std::log1p(std::exp(h - s)) < core::half_ulp(type, s);
}

double decay_freeze_threshold(core::dtype type, double s) { return (s - core::next_below(type, s)) / 2.0; }

}  // namespace assay::reference
