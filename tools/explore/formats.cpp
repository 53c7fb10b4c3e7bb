#include "tools/explore/formats.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::explore {

double storage_format::unit_roundoff() const { return std::ldexp(1.0, -precision); }

double storage_format::round(double x) const {
  if (type) return core::round_to(*type, x);
  if (x == 0.0 || std::isnan(x)) return x;
  double rounded = x;
  if (std::isfinite(x)) {
    const int quantum = std::max(std::ilogb(x), min_exponent) - (precision - 1);
    rounded = std::copysign(std::ldexp(std::nearbyint(std::ldexp(x, -quantum)), quantum), x);
  }
  if (std::fabs(rounded) <= largest) return rounded;
  if (beyond == overflow::to_nan) return std::nan("");
  return std::copysign(beyond == overflow::saturates ? largest : std::numeric_limits<double>::infinity(), x);
}

const std::vector<storage_format>& storage_formats() {
  static const std::vector<storage_format> all = [] {
    std::vector<storage_format> formats;
    for (const core::dtype t : core::floating_dtypes) {
      const core::float_format f = core::format_of(t);
      formats.push_back(
          {core::name_of(t), f.precision, f.min_exponent, core::largest_finite(t), overflow::to_infinity, t});
    }
    formats.push_back({"e5m2", 3, -14, 57344.0, overflow::to_infinity, std::nullopt});
    formats.push_back({"e4m3", 4, -6, 448.0, overflow::to_nan, std::nullopt});
    formats.push_back({"e5m2_sat", 3, -14, 57344.0, overflow::saturates, std::nullopt});
    formats.push_back({"e4m3_sat", 4, -6, 448.0, overflow::saturates, std::nullopt});
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
