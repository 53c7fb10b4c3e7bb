// Sinusoidal position encodings on arrays (Vaswani et al., "Attention is all you need", 2017, section 3.5). Row i of a
// table holds the sine and the cosine of position m_i times each frequency.
//
// The rules for views, results and threads are those of encodings/heinsen.hpp. Positions are doubles, so integers are
// exact up to 2^53. All bits agree between instruction sets and between numbers of threads.
#pragma once

#include "optimized/angle_table.hpp"
#include "optimized/dispatch.hpp"
#include "optimized/rotations.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::sinusoidal {

/// theta_i is base^-t, or t^alpha if `is_power` is true, where t = stride i / steps. The paper's frequencies and the
/// powers have stride 2 and steps d; those of tensor2tensor have stride 1 and steps pairs - 1.
struct scale {
  long stride, steps;
  bool is_power = false;
};

/// Returns theta_i for i < pairs, to about 106 bits. `number` is the base, or alpha.
///
///     const prepared_frequencies theta = sinusoidal::scaled_frequencies({2, d}, 10000.0, d / 2);  // the paper's
prepared_frequencies scaled_frequencies(const scale& scaled, double number, std::size_t pairs);

/// Computes p, [n, places.width], for position, [n], plus the offset. The error of an element is at most 2^-53 at every
/// position up to 2^31 and beyond, and at most 2^-52 at angles above 2^40; in f32, the element is then rounded once.
/// Columns that belong to no pair keep their values. Precondition: theta.size() = places.leading >= places.trailing.
///
///     const column_places by_turns{true, true, d / 2, d / 2, d};
///     sinusoidal::table<float>(process_execution(), by_turns, theta, dense<const double, 1>(position.data(), {n}),
///                              0.0, dense<float, 2>(p.data(), {n, d}));
template <class Real>
void table(const execution& on, const column_places& places, const prepared_frequencies& theta,
           const view<const double, 1>& position, double offset, const view<Real, 2>& p);

/// The adjoint with respect to position, [n], and theta, [pairs], for tables in which all columns belong to pairs. The
/// sums are compensated in double.
///
///     sinusoidal::table_vjp<float>(process_execution(), by_turns, theta, dense<const double, 1>(position.data(), {n}),
///                                  dense<const float, 2>(grad_p.data(), {n, d}),
///                                  dense<float, 1>(grad_position.data(), {n}),
///                                  dense<float, 1>(grad_theta.data(), {d / 2}));
template <class Real>
void table_vjp(const execution& on, const column_places& places, const prepared_frequencies& theta,
               const view<const double, 1>& position, const view<const Real, 2>& grad_p,
               const view<Real, 1>& grad_position, const view<Real, 1>& grad_theta);

/// Computes theta, [bases, pairs], for each base of [bases].
///
///     sinusoidal::frequencies<float>(process_execution(), {2, d}, dense<const float, 1>(bases.data(), {1}),
///                                    dense<float, 2>(theta.data(), {1, d / 2}));
template <class Real>
void frequencies(const execution& on, const scale& scaled, const view<const Real, 1>& base, const view<Real, 2>& theta);
template <class Real>
void frequencies_vjp(const execution& on, const scale& scaled, const view<const Real, 1>& base,
                     const view<const Real, 2>& grad_theta, const view<Real, 1>& grad_base);

/// The decay curve g(s) of the distance s, [n] (cosine_integral.hpp has its formula and bound). Precondition: base >=
/// 20.
///
///     sinusoidal::decay<double>(process_execution(), 10000.0, dense<const double, 1>(distance.data(), {n}),
///                               dense<double, 1>(g.data(), {n}));
template <class Real>
void decay(const execution& on, double base, const view<const Real, 1>& s, const view<Real, 1>& g);
template <class Real>
void decay_vjp(const execution& on, double base, const view<const Real, 1>& s, const view<const Real, 1>& grad_g,
               const view<Real, 1>& grad_s);

}  // namespace assay::optimized::sinusoidal
