// Frequencies and the curve of decay.
#include <vector>

#include "optimized/compensated.hpp"
#include "optimized/cosine_integral.hpp"
#include "optimized/encodings/sinusoidal.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::sinusoidal {
namespace {

frequency frequency_at(const scale& scaled, double base, std::size_t pair) {
  return geometric_frequency(base, scaled.stride * static_cast<long>(pair), scaled.steps);
}

}  // namespace

prepared_frequencies geometric_frequencies(const scale& scaled, double base, std::size_t pairs) {
  std::vector<frequency> theta(pairs);
  for (std::size_t i = 0; i < pairs; ++i) theta[i] = frequency_at(scaled, base, i);
  return prepared_frequencies(std::move(theta));
}

template <class Real>
void frequencies(const execution& on, const scale& scaled, const view<const Real, 1>& base,
                 const view<Real, 2>& theta) {
  ASSAY_EXPECTS(has_shape(base, base.shape) && has_shape(theta, {base.shape[0], theta.shape[1]}));
  for_each_task(on.threads, base.shape[0], [&](std::size_t k) {
    for (std::size_t i = 0; i < theta.shape[1]; ++i)
      *theta.at(k, i) = static_cast<Real>(frequency_at(scaled, static_cast<double>(*base.at(k)), i).high);
  });
}

template <class Real>
void frequencies_vjp(const execution& on, const scale& scaled, const view<const Real, 1>& base,
                     const view<const Real, 2>& grad_theta, const view<Real, 1>& grad_base) {
  ASSAY_EXPECTS(has_shape(base, grad_base.shape) && has_shape(grad_base, grad_base.shape));
  ASSAY_EXPECTS(has_shape(grad_theta, {base.shape[0], grad_theta.shape[1]}));
  for_each_task(on.threads, base.shape[0], [&](std::size_t k) {
    const auto b = static_cast<double>(*base.at(k));
    compensated sum;
    for (std::size_t i = 0; i < grad_theta.shape[1]; ++i) {
      const double exponent =
          -static_cast<double>(scaled.stride * static_cast<long>(i)) / static_cast<double>(scaled.steps);
      sum.add(static_cast<double>(*grad_theta.at(k, i)) * (exponent * frequency_at(scaled, b, i).high / b));
    }
    *grad_base.at(k) = static_cast<Real>(sum.total());
  });
}

template <class Real>
void decay(const execution& on, double base, const view<const Real, 1>& s, const view<Real, 1>& g) {
  ASSAY_EXPECTS(base >= 20 && has_shape(s, g.shape) && has_shape(g, g.shape));
  for_each_block(on, s.shape[0], [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      *g.at(i) = static_cast<Real>(decay_at(static_cast<double>(*s.at(i)), base));
  });
}

template <class Real>
void decay_vjp(const execution& on, double base, const view<const Real, 1>& s, const view<const Real, 1>& grad_g,
               const view<Real, 1>& grad_s) {
  ASSAY_EXPECTS(base >= 20 && has_shape(s, s.shape) && has_shape(grad_g, s.shape) && has_shape(grad_s, s.shape));
  for_each_block(on, s.shape[0], [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      *grad_s.at(i) =
          static_cast<Real>(static_cast<double>(*grad_g.at(i)) * decay_slope_at(static_cast<double>(*s.at(i)), base));
  });
}

#define ASSAY_INSTANTIATE(Real)                                                                                \
  template void frequencies(const execution&, const scale&, const view<const Real, 1>&, const view<Real, 2>&); \
  template void frequencies_vjp(const execution&, const scale&, const view<const Real, 1>&,                    \
                                const view<const Real, 2>&, const view<Real, 1>&);                             \
  template void decay(const execution&, double, const view<const Real, 1>&, const view<Real, 1>&);             \
  template void decay_vjp(const execution&, double, const view<const Real, 1>&, const view<const Real, 1>&,    \
                          const view<Real, 1>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::sinusoidal
