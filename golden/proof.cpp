#include "golden/proof.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::golden {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// x + y of non-negative numbers, rounded upwards. The rounding error of a sum is a double (Knuth 1969).
double add_upwards(double x, double y) {
  const double sum = x + y;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - x;
  const double error = (x - (sum - part)) + (y - part);
  return error > 0.0 ? std::nextafter(sum, infinity) : sum;
}

// x * 2^exponent, rounded upwards.
double scale_upwards(double x, int exponent) {
  const double scaled = std::ldexp(x, exponent);
  return std::ldexp(scaled, -exponent) == x ? scaled : std::nextafter(scaled, infinity);
}

// Upwards to 8 significant bits, off a margin.
double coarse_upwards(double x) {
  if (x == 0.0 || !std::isfinite(x)) return x;
  constexpr int bits = 8;
  const double shifted = x * (1.0 + 0x1p-20);
  if (!std::isfinite(shifted)) return infinity;
  const int quantum = std::max(std::ilogb(shifted) - (bits - 1), -1074);
  return std::ldexp(std::ceil(std::ldexp(shifted, -quantum)), quantum);
}

}  // namespace

std::string low_name(const std::string& output) { return output + ":low"; }
std::string allow_name(const std::string& output) { return output + ":allow"; }

double allowed_distance(core::dtype type, double y, double low, double k) {
  const bool overflowed = std::isinf(y) && low != 0.0;
  if (std::isnan(y) || (std::isinf(y) && !overflowed)) return 0.0;
  if (overflowed || std::isnan(k) || std::isinf(k)) return infinity;
  static_assert(reference::bug_slack == 2.0);
  const double rounding = scale_upwards(k, 1 - core::format_of(type).precision);
  const double reach = add_upwards(rounding, core::half_ulp(type, y));
  const double truth = y + low;
  if (std::fabs(truth) + reach >= core::largest_finite(type)) return infinity;
  return coarse_upwards(add_upwards(reach, std::fabs(low)));
}

core::result<proved_outputs> prove(const core::request& call, std::size_t rungs) {
  using reference::accuracy_class;
  const auto truth = reference::certify(call, rungs, reference::proof::value_and_low);
  const auto laws = reference::allow(call, call.type, accuracy_class::sequential);
  proved_outputs out;
  for (const auto& [name, c] : truth) {
    const core::shape shape = c.rounded.shape();
    const core::dtype type = c.rounded.type;
    const auto& k = laws.at(name).k[static_cast<std::size_t>(accuracy_class::sequential)].storage();
    core::tensor low = core::zeros(core::dtype::f64, shape), allow = low;
    for (std::size_t i = 0; i < c.rung.size(); ++i) {
      if (c.rung[i] == reference::undecided)
        return core::failure("output " + name + core::index_text(shape, i) + " is not decided at " +
                             std::to_string(reference::precision_digits[rungs - 1]) + " digits");
      ++out.at_rung[c.rung[i] - reference::first_interval_rung];
      low.values.storage()[i] = c.low.storage()[i];
      allow.values.storage()[i] = allowed_distance(type, c.rounded.values.storage()[i], c.low.storage()[i], k[i]);
    }
    out.tensors.emplace(name, c.rounded);
    out.tensors.emplace(low_name(name), std::move(low));
    out.tensors.emplace(allow_name(name), std::move(allow));
  }
  return out;
}

}  // namespace assay::golden
