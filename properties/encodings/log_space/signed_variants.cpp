// Wrong and right ways to multiply and scan signed logarithms.
#include <cmath>

#include "properties/faults/scheme_variant.hpp"
#include "reference/encodings/log_space.hpp"

namespace assay::properties::encodings::log_space {
namespace {

using formulas = reference::encodings::log_space;
using reference::formula::traced;
using number = reference::signed_logarithm;
using reference::shift_of;
inline constexpr auto& altered = make_variant<formulas>;

auto multiplying(number (*product)(const number& a, const number& b)) {
  return [product](auto& scheme) { scheme.product = product; };
}
auto signed_scan(number (*scan)(const number& a, const number& b, const number& x0)) {
  return [scan](auto& scheme) { scheme.scan = scan; };
}
// The terms of a product of matrices [B, n, d, m], and their signs.
number terms_of(const number& a, const number& b) {
  const core::shape s = shape_of(a.log), t = shape_of(b.log);
  const core::shape rows{s[0], s[1], s[2], 1}, columns{t[0], 1, t[1], t[2]};
  return {reshaped(a.log, rows) + reshaped(b.log, columns), reshaped(a.sign, rows) * reshaped(b.sign, columns)};
}
// sign exp(log - shift); the shift has one number for each sum [B, n, m], or the shape of the terms.
traced scaled(const number& terms, const traced& shift) {
  const core::shape s = shape_of(terms.log);
  const bool is_of_sums = shape_of(shift).size() == 3;
  return terms.sign * exp(terms.log - (is_of_sums ? reshaped(shift, {s[0], s[1], 1, s[3]}) : shift));
}
number below_largest_if_above_zero(const number& a, const number& b) {
  const core::shape s = shape_of(a.log), t = shape_of(b.log);
  const traced zero(0.0);
  const traced row = reshaped(larger(shift_of(largest_along(a.log, 2)), zero), {s[0], s[1], 1}),
               column = reshaped(larger(shift_of(largest_along(b.log, 1)), zero), {t[0], 1, t[2]});
  const traced sum = contracted(a.sign * exp(a.log - row), b.sign * exp(b.log - column), "bnd,bdm->bnm");
  const number y = reference::logarithm_of(sum, row);
  return {y.log + column, y.sign};
}
number below_largest_of_all(const number& a, const number& b) {
  const number terms = terms_of(a, b);
  const core::shape s = shape_of(terms.log);
  if (s[1] * s[3] == 0) return reference::product_by_pairs(a, b);
  const traced flat = reshaped(terms.log, {s[0], s[1] * s[2] * s[3]});
  const traced shift = broadcast(reshaped(shift_of(largest_along(flat, 1)), {s[0], 1, 1}), {s[0], s[1], s[3]});
  return reference::logarithm_of(summed(scaled(terms, shift), {2}), shift);
}
number without_signs(const number& a, const number& b) {
  const core::shape s = shape_of(a.sign), t = shape_of(b.sign);
  return reference::product_by_pairs({a.log, broadcast(traced(1.0), s)}, {b.log, broadcast(traced(1.0), t)});
}
number sign_of_logarithm(const number& a, const number& b) {
  const traced y = reference::product_by_pairs(a, b).log, zero(0.0);
  return {y, either(less(y, zero), traced(-1.0), either(less(zero, y), traced(1.0), zero))};
}
number nan_of_negative_largest(const number& a, const number& b) {
  const number terms = terms_of(a, b), y = reference::product_by_pairs(a, b);
  const traced largest = largest_along(scaled(terms, shift_of(largest_along(terms.log, 2))), 2);
  return {either(less(largest, traced(1.0)), traced(std::nan("")), y.log), y.sign};
}
// Right: positive and negative terms are summed apart.
number by_parts(const number& a, const number& b) {
  const number terms = terms_of(a, b);
  const traced zero(0.0), none(-reference::log_scans::infinity);
  const traced above = log_sum_exp_along(either(less(zero, terms.sign), terms.log, none), 2),
               below = log_sum_exp_along(either(less(terms.sign, zero), terms.log, none), 2);
  const traced shift = shift_of(larger(above, below));
  return reference::logarithm_of(exp(above - shift) - exp(below - shift), shift);
}

// The result has the sign of the larger term, and magnitudes are added.
number magnitudes_added(const number& a, const number& b, const number& x0) {
  const auto turn = [](const std::vector<traced>& carried, const std::vector<traced>& now) {
    const traced past = now[0] + carried[0], sign = either(less(past, now[2]), now[3], now[1] * carried[1]);
    const traced y = log_sum_exp(past, now[2]);
    return reference::formula::loop_turn{{y, sign}, {y, sign}};
  };
  const auto given =
      reference::formula::looped(shape_of(a.log)[0], {x0.log, x0.sign}, {a.log, a.sign, b.log, b.sign}, turn).given;
  return {given[0], given[1]};
}
void finite_coefficients(description& about) {
  for (const char* operation : {"log_space/signed_scan", "log_space/signed_scan:vjp"})
    about.domain[operation]["log_a"] = declared_domain{};
}
number signs_of_coefficients_lost(const number& a, const number& b, const number& x0) {
  return reference::scan_by_rescaling({a.log, broadcast(traced(1.0), shape_of(a.sign))}, b, x0);
}
number unscaled(const number& a, const number& b, const number& x0) {
  const traced x = reference::log_scans::step_through(
      x0.sign * exp(x0.log), {a.sign * exp(a.log), b.sign * exp(b.log)},
      [](const traced& before, const auto& now) { return now[0] * before + now[1]; });
  return reference::logarithm_of(x, traced(0.0));
}
number logarithms_above_floor(const number& a, const number& b, const number& x0) {
  const number x = reference::scan_by_logarithms(a, b, x0);
  return {larger(x.log, traced(-174.67)), x.sign};
}

}  // namespace

std::vector<variant> signed_mutants() {
  return {
      altered("mutant/log_space_clamped_shift", "glassroom/generalized_orders_of_magnitude, log_matmul_exp: min_c=0",
              "logarithms are never taken less a negative number: exponentials underflow",
              {.formula = multiplying(below_largest_if_above_zero)}),
      altered("mutant/log_space_shift_of_all",
              "glassroom/generalized_orders_of_magnitude, log_add_exp of complex numbers: one largest number",
              "terms are taken less the largest of all rows and columns",
              {.formula = multiplying(below_largest_of_all)}),
      altered("mutant/log_space_without_signs", "scipy/scipy#4627: logsumexp before it had signs",
              "magnitudes are added", {.formula = multiplying(without_signs), .representative = true}),
      altered("mutant/log_space_sign_of_logarithm", "jax-ml/jax#3488, review: the sign of exp(out), not of out",
              "the sign is that of the logarithm", {.formula = multiplying(sign_of_logarithm)}),
      altered("mutant/log_space_negative_largest", "scipy/scipy#22903: NaN where the largest weight is negative",
              "the logarithm of a negative largest term is NaN", {.formula = multiplying(nan_of_negative_largest)}),
      altered("mutant/log_space_magnitudes_added", "numpy/numpy#5652: logaddexp without signs",
              "magnitudes are added, and the larger one gives the sign",
              {.formula = signed_scan(magnitudes_added), .representative = true}),
      altered("mutant/log_space_signs_lost", "glassroom/heinsen_sequence: log of coefficients that may be negative",
              "coefficients are their magnitudes", {.formula = signed_scan(signs_of_coefficients_lost)}),
      altered("mutant/log_space_unscaled", "tskit-dev/tsdate#171: values are brought into linear space",
              "the state is no logarithm: it overflows, or is 0", {.formula = signed_scan(unscaled)}),
      altered("mutant/log_space_floor",
              "glassroom/generalized_orders_of_magnitude, keep_logs_finite: 2 log of the smallest normal f32",
              "no logarithm is below -174.67", {.formula = signed_scan(logarithms_above_floor)}),
  };
}

std::vector<variant> signed_controls() {
  return {
      altered(
          "control/log_space_parts", "scipy/scipy#4627: positive and negative terms apart; complex logarithms",
          "two sums of one sign, and their difference; states as signed logarithms",
          {.formula = [](auto& scheme) { scheme.product = by_parts, scheme.scan = reference::scan_by_logarithms; }}),
      altered("control/log_space_signed_prefix_sums", "glassroom/heinsen_sequence: A + log(x0 + cumsum(b / A))",
              "of class cumsum: the same of signed numbers that are not 0",
              {.formula = signed_scan(reference::scan_by_cumulative_sums), .declared = finite_coefficients}),
  };
}

}  // namespace assay::properties::encodings::log_space
