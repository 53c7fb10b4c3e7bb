#include "tools/explore/formats.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::explore {

double storage_format::unit_roundoff() const { return std::ldexp(1.0, -precision); }

double storage_format::round(double x) const {
  if (type) return core::round_to(*type, x);
  if (x == 0.0 || !std::isfinite(x)) return std::isinf(x) && !has_infinity ? std::nan("") : x;
  const int quantum = std::max(std::ilogb(x), min_exponent) - (precision - 1);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -quantum)), quantum);
  if (std::fabs(rounded) <= largest) return rounded == 0.0 ? std::copysign(0.0, x) : rounded;
  return has_infinity ? std::copysign(std::numeric_limits<double>::infinity(), x) : std::nan("");
}

const std::vector<storage_format>& storage_formats() {
  static const std::vector<storage_format> all = [] {
    std::vector<storage_format> formats;
    for (const core::dtype t : core::floating_dtypes) {
      const core::float_format f = core::format_of(t);
      formats.push_back({core::name_of(t), f.precision, f.min_exponent, core::largest_finite(t), true, t});
    }
    formats.push_back({"e5m2", 3, -14, 57344.0, true, std::nullopt});
    formats.push_back({"e4m3", 4, -6, 448.0, false, std::nullopt});
    return formats;
  }();
  return all;
}

const storage_format* find_format(std::string_view name) {
  for (const storage_format& f : storage_formats())
    if (f.name == name) return &f;
  return nullptr;
}

}  // namespace assay::explore
