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
///
///     const prepared_frequencies theta = rope::geometric_frequencies(500000.0, d / 2, 1.0);
prepared_frequencies geometric_frequencies(double base, std::size_t pairs, double position_scale,
                                           std::size_t divisor = 0);

/// Turns x, [B, n, h, d], at position, [B, n], and writes the result to y. With `back` it turns by the opposite angles,
/// which is the adjoint. Features that belong to no pair are copied. Precondition: theta.size() = pairs.count, and 2
/// pairs.count <= d.
///
///     const prepared_frequencies theta = rope::geometric_frequencies(10000.0, d / 2, 1.0);
///     rope::rotate<float>(process_execution(), {d / 2, true}, theta, dense<const double, 2>(position.data(), {B, n}),
///                         false, dense<const float, 4>(q.data(), {B, n, heads, d}),
///                         dense<float, 4>(rotated.data(), {B, n, heads, d}));
template <class Real>
void rotate(const execution& on, const rotary_pairs& pairs, const prepared_frequencies& theta,
            const view<const double, 2>& position, bool back, const view<const Real, 4>& x, const view<Real, 4>& y);

/// The adjoint with respect to theta, [pairs], and to the positions, [B, n]. The torques y_first g_second - y_second
/// g_first are multiplied by m for theta, and by theta for the positions. The sums are compensated in double.
///
///     rope::rotate_angles_vjp<float>(process_execution(), {d / 2, true}, theta, positions, x, grad_y,
///                                    dense<float, 1>(grad_theta.data(), {d / 2}),
///                                    dense<float, 2>(grad_position.data(), {B, n}));
template <class Real>
void rotate_angles_vjp(const execution& on, const rotary_pairs& pairs, const prepared_frequencies& theta,
                       const view<const double, 2>& position, const view<const Real, 4>& x,
                       const view<const Real, 4>& grad_y, const view<Real, 1>& grad_theta,
                       const view<Real, 2>& grad_position);

/// Computes theta, [bases, pairs], for each base of [bases].
///
///     rope::frequencies<float>(process_execution(), {rope::scaling::ntk, 4.0},
///                              dense<const float, 1>(bases.data(), {1}), dense<float, 2>(theta.data(), {1, d / 2}));
template <class Real>
void frequencies(const execution& on, const scale& scaled, const view<const Real, 1>& base, const view<Real, 2>& theta);
template <class Real>
void frequencies_vjp(const execution& on, const scale& scaled, const view<const Real, 1>& base,
                     const view<const Real, 2>& grad_theta, const view<Real, 1>& grad_base);

}  // namespace assay::optimized::rope
