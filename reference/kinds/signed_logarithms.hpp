// Real numbers x = sign exp(log), stored as the logarithms of their magnitudes, and their signs.
// scipy.special.logsumexp has this form with return_sign; the real and imaginary parts of complex logarithms have it,
// too (generalized orders of magnitude, Heinsen and Kozachkov 2025, arXiv 2510.03426).
//
// The logarithm of a sum that cancels has no digits: its error is the error of the terms divided by the sum. Where that
// error is as large as the sum itself, a program may compute either sign, and no logarithm is wrong. The sign of 0 is
// 0; 1 and -1 are right as well.
#pragma once

#include <limits>
#include <utility>

#include "reference/formula/recording.hpp"

namespace assay::reference {

struct signed_logarithm {
  using traced = formula::traced;
  traced log, sign;
};

/// The shift that is subtracted from exponents: the largest of them, or 0 in place of -inf.
inline formula::traced shift_of(const formula::traced& largest) {
  const formula::traced top = without_error(detach(largest)), none(-std::numeric_limits<double>::infinity());
  return either(equal(top, none), formula::traced(0.0), top);
}

/// The logarithm and sign of a sum times exp(shift). A sign is certain where the sum is larger than three times its
/// error, since a gate allows twice the error. The logarithm of a sum whose sign may be lost is unknown.
inline signed_logarithm logarithm_of(const formula::traced& sum, const formula::traced& shift) {
  const formula::traced zero(0.0), one(1.0), x = detach(sum), wide = x + (x - x),
                                             none(-std::numeric_limits<double>::infinity());
  const auto is_known = less(zero, magnitude_of(wide));
  const formula::traced known = log(magnitude_of(either(is_known, sum, one)));
  const formula::traced sign_of_zero = either(equal(x, zero), right_as_well(right_as_well(zero, one), -one), x);
  return {either(is_known, known, none) + shift,
          either(less(wide, zero), -one, either(less(zero, wide), one, sign_of_zero))};
}

/// Products of matrices [B, n, d] and [B, d, m], d > 0: each sum is shifted by its own largest term.
inline signed_logarithm product_by_pairs(const signed_logarithm& a, const signed_logarithm& b) {
  const core::shape s = shape_of(a.log), t = shape_of(b.log);
  const core::shape rows{s[0], s[1], s[2], 1}, columns{t[0], 1, t[1], t[2]}, one{s[0], s[1], 1, t[2]};
  const formula::traced terms = reshaped(a.log, rows) + reshaped(b.log, columns),
                        shift = shift_of(largest_along(terms, 2));
  const formula::traced signs = reshaped(a.sign, rows) * reshaped(b.sign, columns);
  return logarithm_of(summed(signs * exp(terms - reshaped(shift, one)), {2}), shift);
}
/// The same, shifted by the largest logarithm of a row and of a column, and computed by a product of matrices.
inline signed_logarithm product_by_rows_and_columns(const signed_logarithm& a, const signed_logarithm& b) {
  const core::shape s = shape_of(a.log), t = shape_of(b.log);
  const formula::traced row = reshaped(shift_of(largest_along(a.log, 2)), {s[0], s[1], 1}),
                        column = reshaped(shift_of(largest_along(b.log, 1)), {t[0], 1, t[2]});
  const formula::traced sum = contracted(a.sign * exp(a.log - row), b.sign * exp(b.log - column), "bnd,bdm->bnm");
  const signed_logarithm y = logarithm_of(sum, row);
  return {y.log + column, y.sign};
}

/// x_t = a_t x_{t-1} + b_t over turns [n, ...]. x is stored as X exp(m), where m is the larger logarithm of its two
/// terms.
inline signed_logarithm scan_by_rescaling(const signed_logarithm& a, const signed_logarithm& b,
                                          const signed_logarithm& x0) {
  using formula::traced;
  const auto turn = [](const std::vector<traced>& carried, const std::vector<traced>& now) {
    const traced past = now[0] + carried[0], top = without_error(detach(larger(past, now[2]))), shift = shift_of(top);
    const traced x = now[1] * exp(past - shift) * carried[1] + now[3] * exp(now[2] - shift);
    const signed_logarithm y = logarithm_of(x, shift);
    return formula::loop_turn{{top, x}, {y.log, y.sign}};
  };
  const traced m = detach(x0.log), first = x0.sign * exp(x0.log - shift_of(m));
  const auto given = formula::looped(shape_of(a.log)[0], {m, first}, {a.log, a.sign, b.log, b.sign}, turn).given;
  return {given[0], given[1]};
}
/// The same; x is stored as its logarithm.
inline signed_logarithm scan_by_logarithms(const signed_logarithm& a, const signed_logarithm& b,
                                           const signed_logarithm& x0) {
  using formula::traced;
  const auto turn = [](const std::vector<traced>& carried, const std::vector<traced>& now) {
    const traced past = now[0] + carried[0], shift = shift_of(larger(past, now[2]));
    const traced sign = now[1] * carried[1];
    const signed_logarithm y = logarithm_of(sign * exp(past - shift) + now[3] * exp(now[2] - shift), shift);
    return formula::loop_turn{{y.log, y.sign}, {y.log, y.sign}};
  };
  const auto given = formula::looped(shape_of(a.log)[0], {x0.log, x0.sign}, {a.log, a.sign, b.log, b.sign}, turn).given;
  return {given[0], given[1]};
}
/// The same, as A times (x_0 + the sum of b / A), where A is the product of all a so far (Heinsen 2023, arXiv
/// 2311.06281).
inline signed_logarithm scan_by_cumulative_sums(const signed_logarithm& a, const signed_logarithm& b,
                                                const signed_logarithm& x0) {
  using formula::traced;
  const core::shape s = shape_of(a.sign);
  const auto product = [](const std::vector<traced>& carried, const std::vector<traced>& now) {
    const traced p = carried[0] * now[0];
    return formula::loop_turn{{p}, {p}};
  };
  const traced ones = broadcast(traced(1.0), {s.begin() + 1, s.end()});
  const traced signs = formula::looped(s[0], {ones}, {a.sign}, product).given[0], sums = cumulative_sum(a.log, 0);
  const signed_logarithm steps{broadcast(traced(0.0), s), broadcast(traced(1.0), s)};
  const signed_logarithm x = scan_by_rescaling(steps, {b.log - sums, b.sign * signs}, x0);
  return {x.log + sums, x.sign * signs};
}

}  // namespace assay::reference
