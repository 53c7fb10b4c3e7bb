// Rotary position embedding on arrays (Su et al., "RoFormer", 2021, arXiv 2104.09864, eqs. (15) and (34)). It turns
// pair t of the features of a token at position m by the angle m theta_t.
//
// The rules for views, results and threads are those of encodings/heinsen.hpp. Positions are doubles, so integers are
// exact up to 2^53. Angles are accurate enough at every position (token_rotations.hpp); an infinite angle makes its
// pair NaN. All bits agree between instruction sets and between numbers of threads.
#pragma once

#include "optimized/dispatch.hpp"
#include "optimized/rotations.hpp"
#include "optimized/token_rotations.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::rope {

/// The rules that make frequencies from a base. `none` is the paper's rule, theta_t = base^(-t / pairs).
/// `interpolation` divides these by a factor (Chen et al. 2023, arXiv 2306.15595). `ntk`, known as NTK-aware,
/// multiplies the base by factor^(pairs / (pairs - 1)).
enum class scaling { none, interpolation, ntk };
struct scale {
  scaling rule = scaling::none;
  double factor = 1.0;
};

/// Returns theta_t = base^(-t / divisor) for t < pairs, each divided by position_scale, to about 105 bits. If `divisor`
/// is 0, it is `pairs`.
prepared_frequencies geometric_frequencies(double base, std::size_t pairs, double position_scale,
                                           std::size_t divisor = 0);

/// Turns x, [B, n, h, d], at position, [B, n], and writes the result to y. With `back` it turns by the opposite angles,
/// which is the adjoint. Features that belong to no pair are copied. Precondition: theta.size() = pairs.count, and 2
/// pairs.count <= d.
template <class Real>
void rotate(const execution& on, const rotary_pairs& pairs, const prepared_frequencies& theta,
            const view<const double, 2>& position, bool back, const view<const Real, 4>& x, const view<Real, 4>& y);

/// The adjoint with respect to theta, [pairs], and to the positions, [B, n]. The torques y_first g_second - y_second
/// g_first are multiplied by m for theta, and by theta for the positions. The sums are compensated in double.
template <class Real>
void rotate_angles_vjp(const execution& on, const rotary_pairs& pairs, const prepared_frequencies& theta,
                       const view<const double, 2>& position, const view<const Real, 4>& x,
                       const view<const Real, 4>& grad_y, const view<Real, 1>& grad_theta,
                       const view<Real, 2>& grad_position);

/// Computes theta, [bases, pairs], for each base of [bases].
template <class Real>
void frequencies(const execution& on, const scale& scaled, const view<const Real, 1>& base, const view<Real, 2>& theta);
template <class Real>
void frequencies_vjp(const execution& on, const scale& scaled, const view<const Real, 1>& base,
                     const view<const Real, 2>& grad_theta, const view<Real, 1>& grad_base);

}  // namespace assay::optimized::rope
