#include "reference/algorithms/log_buckets.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "reference/core/result.hpp"

namespace assay::reference {
namespace {

using boost::multiprecision::cpp_int;

double log_of_ratio(std::int64_t x, std::int64_t y) {
  return std::log(static_cast<double>(x) / static_cast<double>(y));
}
// Whether the floor of the quotient is certain. The quotient of two such logarithms, times an integer, has an error
// below 2^-40 (1 + quotient). Only where it is nearly an integer, integer arithmetic must decide.
bool is_decided(double quotient) { return std::fabs(quotient - std::round(quotient)) > 0x1p-36 * (1.0 + quotient); }

cpp_int power(std::int64_t base, std::int64_t exponent) {
  return boost::multiprecision::pow(cpp_int(base), static_cast<unsigned>(exponent));
}

}  // namespace

std::string bucket_map::conflict() const {
  if (bidirectional && buckets % 2 != 0) return "attribute 'buckets' must be even in both directions";
  if (exact() < 1) return "attribute 'buckets' must leave two buckets to each direction";
  if (max_distance <= exact()) return "attribute 'max_distance' must be larger than the exact buckets of a direction";
  return "";
}

std::int64_t log_bucket_offset(const bucket_map& map, std::int64_t n) {
  const std::int64_t exact = map.exact(), logarithmic = map.buckets_of_direction() - exact;
  ASSAY_EXPECTS(map.conflict().empty() && n >= exact);
  if (n >= map.max_distance) return logarithmic;
  const double quotient =
      static_cast<double>(logarithmic) * log_of_ratio(n, exact) / log_of_ratio(map.max_distance, exact);
  if (is_decided(quotient)) return static_cast<std::int64_t>(quotient);
  const cpp_int wanted = power(n, logarithmic);
  std::int64_t reached = 0, beyond = logarithmic;  // n < D, so t = N - E is too large
  while (beyond - reached > 1) {
    const std::int64_t t = reached + (beyond - reached) / 2;
    (power(map.max_distance, t) * power(exact, logarithmic - t) <= wanted ? reached : beyond) = t;
  }
  return reached;
}

std::int64_t first_of_log_bucket(const bucket_map& map, std::int64_t t) {
  const std::int64_t exact = map.exact(), logarithmic = map.buckets_of_direction() - exact;
  ASSAY_EXPECTS(t >= 1 && t <= logarithmic);
  const double ratio = static_cast<double>(map.max_distance) / static_cast<double>(exact);
  const double guess =
      static_cast<double>(exact) * std::pow(ratio, static_cast<double>(t) / static_cast<double>(logarithmic));
  auto n = std::max(exact, static_cast<std::int64_t>(guess));
  while (n > exact && log_bucket_offset(map, n - 1) >= t) --n;
  while (log_bucket_offset(map, n) < t) ++n;
  return n;
}

std::int64_t bucket_of(const bucket_map& map, double distance) {
  const auto n = static_cast<std::int64_t>(map.magnitude(distance));
  const std::int64_t exact = map.exact(), last = map.buckets_of_direction() - 1;
  const bool is_exact = map.form == "clipped" || n < exact;
  return map.base(distance) + std::min(last, is_exact ? n : exact + log_bucket_offset(map, n));
}

std::int64_t log_bucket_ceiling(std::int64_t middle, std::int64_t last, std::int64_t n) {
  ASSAY_EXPECTS(middle >= 1 && n >= middle && last >= 2 * middle);
  if (n == last) return middle - 1;
  const auto reaches = [=](std::int64_t t) {
    // Both sides are multiplied by middle^(middle - 1) and middle^t.
    return power(last, t) * power(middle, middle - 1) >= power(n, middle - 1) * power(middle, t);
  };
  const double quotient = static_cast<double>(middle - 1) * log_of_ratio(n, middle) / log_of_ratio(last, middle);
  auto t = static_cast<std::int64_t>(quotient);
  if (is_decided(quotient)) return t + 1;
  while (t > 0 && reaches(t - 1)) --t;
  while (!reaches(t)) ++t;
  return t;
}

}  // namespace assay::reference
