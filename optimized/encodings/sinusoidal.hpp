// Sinusoidal position encodings on arrays (Vaswani et al., "Attention is all you need", 2017, section 3.5): row i of a
// table holds the sine and the cosine of position m_i times each frequency.
//
// Views, results and threads are as of encodings/heinsen.hpp. Positions are doubles: integers are exact up to 2^53. All
// bits agree between instruction sets and between numbers of threads.
#pragma once

#include "optimized/angle_table.hpp"
#include "optimized/dispatch.hpp"
#include "optimized/rotations.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::sinusoidal {

/// theta_i = base^-t, or t^alpha where it is a power, t = stride i / steps: stride 2 and steps d for the paper's and
/// for powers, stride 1 and steps pairs - 1 for those of tensor2tensor.
struct scale {
  long stride, steps;
  bool is_power = false;
};

/// theta_i for i < pairs, to about 106 bits. `number`: the base, or alpha.
prepared_frequencies scaled_frequencies(const scale& scaled, double number, std::size_t pairs);

/// p, [n, places.width], for position, [n], plus the offset. An element is within 2^-53 of the truth at every position
/// up to 2^31 and beyond, within 2^-52 at angles above 2^40, and is rounded once in f32. Columns of no pair are left
/// alone. Precondition: theta.size() = places.leading >= places.trailing.
template <class Real>
void table(const execution& on, const column_places& places, const prepared_frequencies& theta,
           const view<const double, 1>& position, double offset, const view<Real, 2>& p);

/// The adjoint in position, [n], and theta, [pairs], where all columns are in pairs. The sums are compensated in
/// double.
template <class Real>
void table_vjp(const execution& on, const column_places& places, const prepared_frequencies& theta,
               const view<const double, 1>& position, const view<const Real, 2>& grad_p,
               const view<Real, 1>& grad_position, const view<Real, 1>& grad_theta);

/// theta, [bases, pairs], of each base, [bases].
template <class Real>
void frequencies(const execution& on, const scale& scaled, const view<const Real, 1>& base, const view<Real, 2>& theta);
template <class Real>
void frequencies_vjp(const execution& on, const scale& scaled, const view<const Real, 1>& base,
                     const view<const Real, 2>& grad_theta, const view<Real, 1>& grad_base);

/// The curve of decay g(s) with the distance s, [n] (cosine_integral.hpp: formula and bound). Precondition: base >= 20.
template <class Real>
void decay(const execution& on, double base, const view<const Real, 1>& s, const view<Real, 1>& g);
template <class Real>
void decay_vjp(const execution& on, double base, const view<const Real, 1>& s, const view<const Real, 1>& grad_g,
               const view<Real, 1>& grad_s);

}  // namespace assay::optimized::sinusoidal
