#include "reference/readings/rounded.hpp"

#include <bit>
#include <cstdint>

#include "reference/core/counter_random.hpp"

namespace assay::reference {

double rounded_at_random(double x, std::uint64_t seed) {
  const working_format& format = arithmetic();
  const int precision = format.type == core::dtype::f64 ? coarse_precision : format.precision;
  const double least = format.tau * format.u, largest = core::largest_finite(format.type);
  if (!(std::fabs(x) >= least) || !(std::fabs(x) < largest)) return core::round_to(format.type, x);
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t lost = (std::uint64_t{1} << (53 - precision)) - 1;
  if ((bits & lost) == 0) return x;
  // The sign is left out: -x is rounded as x is.
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  return std::bit_cast<double>((bits + (core::counter_random(magnitude + seed).bits() & lost)) & ~lost);
}

}  // namespace assay::reference
