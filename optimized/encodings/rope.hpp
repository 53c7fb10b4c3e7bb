// Rotary position embedding on arrays (Su et al., "RoFormer", 2021, arXiv 2104.09864, eqs. (15) and (34)): pair t of
// the features of a token at position m is turned by the angle m theta_t.
//
// Views, results and threads are as of encodings/heinsen.hpp. Positions are doubles: integers are exact up to 2^53.
// Angles are exact enough at every position (token_rotations.hpp); infinite ones make their pairs NaN. All bits agree
// between instruction sets and between numbers of threads.
#pragma once

#include "optimized/dispatch.hpp"
#include "optimized/rotations.hpp"
#include "optimized/token_rotations.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::rope {

/// How frequencies follow from a base: as in the paper, theta_t = base^(-t / pairs); divided by a factor (Chen et al.
/// 2023, arXiv 2306.15595); or with the base times factor^(pairs / (pairs - 1)), known as NTK-aware.
enum class scaling { none, interpolation, ntk };
struct scale {
  scaling how = scaling::none;
  double factor = 1.0;
};

/// theta_t = base^(-t / of) for t < pairs, each divided by position_scale, to about 105 bits. Without `of` it is
/// `pairs`.
prepared_frequencies geometric_frequencies(double base, std::size_t pairs, double position_scale, std::size_t of = 0);

/// y = x, [B, n, h, d], turned at position, [B, n]; with `back` by the opposite angles, which is the adjoint. Features
/// that are in no pair are copied. Precondition: theta.size() = pairs.count, 2 pairs.count <= d.
template <class Real>
void rotate(const execution& on, const rotary_pairs& pairs, const prepared_frequencies& theta,
            const view<const double, 2>& position, bool back, const view<const Real, 4>& x, const view<Real, 4>& y);

/// The adjoint in theta, [pairs], and in the positions, [B, n]: the torques y_first g_second - y_second g_first times m
/// and times theta. Their sums are compensated in double.
template <class Real>
void rotate_angles_vjp(const execution& on, const rotary_pairs& pairs, const prepared_frequencies& theta,
                       const view<const double, 2>& position, const view<const Real, 4>& x,
                       const view<const Real, 4>& grad_y, const view<Real, 1>& grad_theta,
                       const view<Real, 2>& grad_position);

/// theta, [bases, pairs], of each base, [bases].
template <class Real>
void frequencies(const execution& on, const scale& scaled, const view<const Real, 1>& base, const view<Real, 2>& theta);
template <class Real>
void frequencies_vjp(const execution& on, const scale& scaled, const view<const Real, 1>& base,
                     const view<const Real, 2>& grad_theta, const view<Real, 1>& grad_base);

}  // namespace assay::optimized::rope
