// A sine and its cosine come from one rotation, in whatever columns they stand. Threads share blocks of rows. Sums over
// positions are made for each block and joined in the order of the blocks.
#include <vector>

#include "optimized/compensated.hpp"
#include "optimized/cosine_integral.hpp"
#include "optimized/encodings/sinusoidal.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::sinusoidal {
namespace {

frequency frequency_at(const scale& scaled, double number, std::size_t pair) {
  return (scaled.is_power ? power_frequency : geometric_frequency)(number, scaled.stride * static_cast<long>(pair),
                                                                   scaled.steps);
}

}  // namespace

prepared_frequencies scaled_frequencies(const scale& scaled, double number, std::size_t pairs) {
  std::vector<frequency> theta(pairs);
  for (std::size_t i = 0; i < pairs; ++i) theta[i] = frequency_at(scaled, number, i);
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

template <class Real>
void table(const execution& on, const column_places& places, const prepared_frequencies& theta,
           const view<const double, 1>& position, double offset, const view<Real, 2>& p) {
  ASSAY_EXPECTS(theta.size() == places.leading && places.trailing <= places.leading);
  ASSAY_EXPECTS(places.leading + places.trailing <= places.width);
  ASSAY_EXPECTS(has_shape(position, {position.shape[0]}) && has_shape(p, {position.shape[0], places.width}));
  write_table(on, places, theta, position, offset, p);
}

template <class Real>
void table_vjp(const execution& on, const column_places& places, const prepared_frequencies& theta,
               const view<const double, 1>& position, const view<const Real, 2>& grad_p,
               const view<Real, 1>& grad_position, const view<Real, 1>& grad_theta) {
  const std::size_t n = position.shape[0], pairs = theta.size(), blocks = blocks_of_rows(n);
  ASSAY_EXPECTS(pairs == places.leading && pairs == places.trailing && places.width == 2 * pairs);
  ASSAY_EXPECTS(has_shape(position, {n}) && has_shape(grad_p, {n, places.width}));
  ASSAY_EXPECTS(has_shape(grad_position, {n}) && has_shape(grad_theta, {pairs}));
  std::vector<compensated> parts(blocks * pairs);
  for_each_block(on, n, [&](std::size_t block, std::size_t begin, std::size_t end) {
    rotations found(pairs, false);
    for (std::size_t i = begin; i < end; ++i) {
      const double m = *position.at(i);
      theta.find(*on.kernels, m, found);
      compensated sum;
      for (std::size_t k = 0; k < pairs; ++k) {
        const auto grad_first = static_cast<double>(*grad_p.at(i, places.first(k))),
                   grad_second = static_cast<double>(*grad_p.at(i, places.second(k)));
        const double sine_term = (places.sine_first ? grad_first : grad_second) * found.cosine[k];
        const double cosine_term = -(places.sine_first ? grad_second : grad_first) * found.sine[k];
        sum.add(theta[k] * sine_term);
        sum.add(theta[k] * cosine_term);
        parts[block * pairs + k].add(m * sine_term);
        parts[block * pairs + k].add(m * cosine_term);
      }
      *grad_position.at(i) = static_cast<Real>(sum.total());
    }
  });
  for (std::size_t k = 0; k < pairs; ++k) {
    compensated all;
    for (std::size_t block = 0; block < blocks; ++block) all.add(parts[block * pairs + k]);
    *grad_theta.at(k) = static_cast<Real>(all.total());
  }
}

#define ASSAY_INSTANTIATE(Real)                                                                                \
  template void table(const execution&, const column_places&, const prepared_frequencies&,                     \
                      const view<const double, 1>&, double, const view<Real, 2>&);                             \
  template void table_vjp(const execution&, const column_places&, const prepared_frequencies&,                 \
                          const view<const double, 1>&, const view<const Real, 2>&, const view<Real, 1>&,      \
                          const view<Real, 1>&);                                                               \
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
