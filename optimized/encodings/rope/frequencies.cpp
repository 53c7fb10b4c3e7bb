#include <cmath>
#include <vector>

#include "optimized/angles.hpp"
#include "optimized/compensated.hpp"
#include "optimized/encodings/rope.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::rope {
namespace {

// Return x * y and x / y, to about 105 bits.
frequency times(frequency x, frequency y) {
  const double r = x.high * y.high;
  return {r, std::fma(x.high, y.high, -r) + (x.high * y.low + x.low * y.high)};
}
frequency divided(frequency x, double y) {
  const double r = x.high / y;
  return {r, (std::fma(-r, y, x.high) + x.low) / y};
}

frequency scaled_frequency(const scale& scaled, double base, std::size_t pair, std::size_t pairs) {
  const auto t = static_cast<long>(pair), count = static_cast<long>(pairs);
  const frequency theta = geometric_frequency(base, t, count);
  if (scaled.rule == scaling::interpolation) return divided(theta, scaled.factor);
  return scaled.rule == scaling::ntk && count > 1 ? times(theta, geometric_frequency(scaled.factor, t, count - 1))
                                                  : theta;
}

}  // namespace

prepared_frequencies geometric_frequencies(double base, std::size_t pairs, double position_scale, std::size_t divisor) {
  const auto denominator = static_cast<long>(divisor == 0 ? pairs : divisor);
  std::vector<frequency> theta;
  for (std::size_t t = 0; t < pairs; ++t)
    theta.push_back(divided(geometric_frequency(base, static_cast<long>(t), denominator), position_scale));
  return prepared_frequencies(std::move(theta));
}

template <class Real>
void frequencies(const execution& on, const scale& scaled, const view<const Real, 1>& base,
                 const view<Real, 2>& theta) {
  const std::size_t pairs = theta.shape[1];
  ASSAY_EXPECTS(has_shape(base, base.shape) && has_shape(theta, {base.shape[0], pairs}));
  for_each_task(on.threads, base.shape[0], [&](std::size_t k) {
    for (std::size_t t = 0; t < pairs; ++t)
      *theta.at(k, t) = static_cast<Real>(scaled_frequency(scaled, static_cast<double>(*base.at(k)), t, pairs).high);
  });
}

template <class Real>
void frequencies_vjp(const execution& on, const scale& scaled, const view<const Real, 1>& base,
                     const view<const Real, 2>& grad_theta, const view<Real, 1>& grad_base) {
  const std::size_t pairs = grad_theta.shape[1];
  ASSAY_EXPECTS(has_shape(base, grad_base.shape) && has_shape(grad_base, grad_base.shape));
  ASSAY_EXPECTS(has_shape(grad_theta, {base.shape[0], pairs}));
  for_each_task(on.threads, base.shape[0], [&](std::size_t k) {
    const auto b = static_cast<double>(*base.at(k));
    compensated sum;
    for (std::size_t t = 0; t < pairs; ++t) {
      const double share = static_cast<double>(t) / static_cast<double>(pairs);
      sum.add(-static_cast<double>(*grad_theta.at(k, t)) * share * scaled_frequency(scaled, b, t, pairs).high / b);
    }
    *grad_base.at(k) = static_cast<Real>(sum.total());
  });
}

#define ASSAY_INSTANTIATE(Real)                                                                                \
  template void frequencies(const execution&, const scale&, const view<const Real, 1>&, const view<Real, 2>&); \
  template void frequencies_vjp(const execution&, const scale&, const view<const Real, 1>&,                    \
                                const view<const Real, 2>&, const view<Real, 1>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::rope
