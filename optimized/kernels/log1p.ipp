// log1p(u) = log(1 + u) on [0, 1].
//
// Domain: 0 <= u <= 1. Special values: log1p(+-0) = 0; NaN gives NaN; a subnormal u gives u.
//
// Algorithm: if u < 1/2, then f = u. Otherwise log(1 + u) = ln 2 + log(1 + f) with f = (u - 1) / 2, which is exact.
// With s = f / (2 + f), log(1 + f) = 2 atanh(s) = f - (f^2 / 2 - s (f^2 / 2 + R)), where R is the Taylor series of 2
// atanh(s) / s - 2 in s^2 <= 0.04 [fdlibm, s_log1p.c: this form keeps the leading term f exact]. ln 2 + f is formed by
// Fast2Sum [Dekker 1971], so that only the last addition has a rounding error of full size.
//
// Lanes: independent. Bound: measured, the same on all instruction sets:
//   f32: 0.914 ulp at 0x1.fbf1d8p-2, all 1065353217 arguments, against log1p in binary64;
//   f64: 0.912 ulp at 0x1.ff951ea0bfda5p-2, 98304000 arguments, against log1pl (64 bits).
// tests/elementary.cpp repeats the measurement.

template <class Real>
struct log1p_constants;

template <>
struct log1p_constants<float> {
  // 2/3, 2/5, ...; the first omitted term is below 2^-30 of the result.
  static constexpr float r[] = {2.0f / 3, 2.0f / 5, 2.0f / 7, 2.0f / 9, 2.0f / 11};
};

template <>
struct log1p_constants<double> {
  // The first omitted term is below 2^-59 of the result.
  static constexpr double r[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
};

template <class Real>
inline vec<Real> log1p_unit(vec<Real> u) {
  using ln2 = exp_constants<Real>;
  const auto small = u < Real(0.5);
  const vec<Real> f = small ? u : (u - Real(1)) * Real(0.5);
  const vec<Real> base_hi = small ? vec<Real>{} : broadcast(ln2::ln2_hi);
  const vec<Real> base_lo = small ? vec<Real>{} : broadcast(ln2::ln2_lo);

  const vec<Real> s = f / (Real(2) + f);
  const vec<Real> s2 = s * s;
  const vec<Real> half_square = Real(0.5) * f * f;
  const vec<Real> tail = s * (half_square + s2 * polynomial(s2, log1p_constants<Real>::r)) - half_square;

  const vec<Real> sum = base_hi + f;
  const vec<Real> lost = f - (sum - base_hi);
  return sum + (lost + (base_lo + tail));
}
