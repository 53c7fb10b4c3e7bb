// exp on (-inf, 0].
//
// Domain: x <= 0. Special values: exp(+-0) = 1, exp(-inf) = 0, and NaN gives NaN. Results are correct down to the
// subnormals; they are 0 where e^x is below half of the smallest subnormal. No floating-point status is promised.
//
// Algorithm: x = n ln 2 + r, where n is the nearest integer and |r| <= 0.3466. ln 2 = ln2_hi + ln2_lo, where ln2_hi has
// so few bits that n ln2_hi and hi = x - n ln2_hi are exact. e^r = 1 + r + r^2 q(r), where q is the Taylor polynomial.
// 1 + hi is formed by Fast2Sum [Dekker 1971], so that only the last addition has a rounding error of full size. The
// result is scaled by 2^(n + c) and by 2^-c. The first product is exact, so a subnormal result is rounded once after
// the last addition. n is found by adding 1.5 2^(p-1), whose ulp is 1.
//
// Lanes: independent. Bound: measured, the same on all instruction sets:
//   f32: 0.783 ulp at -0x1.5ec446p+6, all 1121058817 arguments in [-105, 0], against exp in binary64;
//   f64: 0.813 ulp at -0x1.62607ea79089cp+9, 98304000 arguments in [-746, 0], against expl (64 bits).
// Both maxima occur where the result is subnormal. tests/elementary.cpp repeats the measurement.

template <class Real>
struct exp_constants;

template <>
struct exp_constants<float> {
  static constexpr float underflow = -104.0f;  // e^-104 < 2^-150
  static constexpr float log2_e = 0x1.715476p+0f;
  static constexpr float ln2_hi = 0x1.62e4p-1f;  // 15 bits; |n| <= 150 has 8
  static constexpr float ln2_lo = 0x1.7f7d1cp-20f;
  static constexpr int scale_offset = 64;  // c
  static constexpr float unscale = 0x1p-64f;
  // 1/2!, 1/3!, ...; the first omitted term is below 2^-31.
  static constexpr float q[] = {1.0f / 2, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720, 1.0f / 5040, 1.0f / 40320};
};

template <>
struct exp_constants<double> {
  static constexpr double underflow = -746.0;  // e^-746 < 2^-1075
  static constexpr double log2_e = 0x1.71547652b82fep+0;
  static constexpr double ln2_hi = 0x1.62e42feep-1;  // 32 bits; |n| <= 1077 has 11
  static constexpr double ln2_lo = 0x1.a39ef35793c76p-33;
  static constexpr int scale_offset = 512;
  static constexpr double unscale = 0x1p-512;
  // The first omitted term is below 2^-57.
  static constexpr double q[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                 1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
};

template <class Real>
inline vec<Real> exp_nonpositive(vec<Real> x) {
  using f = format<Real>;
  using c = exp_constants<Real>;
  constexpr Real rounder = static_cast<Real>(std::uint64_t{3} << (f::precision - 2));

  x = x < c::underflow ? broadcast(c::underflow) : x;  // the comparison is false for NaN, so NaN stays
  const vec<Real> shifted = x * c::log2_e + rounder;
  const vec<Real> n = shifted - rounder;
  const vec<Real> hi = x - n * c::ln2_hi;
  const vec<Real> lo = n * c::ln2_lo;
  const vec<Real> r = hi - lo;

  const vec<Real> sum = Real(1) + hi;
  const vec<Real> lost = hi - (sum - Real(1));
  const vec<Real> y = sum + (lost + (r * r * polynomial(r, c::q) - lo));

  // The low bits of `shifted` are n. The shift removes the bits above them.
  const bits_of<Real> exponent = __builtin_bit_cast(bits_of<Real>, shifted) + (f::max_exponent + c::scale_offset);
  const vec<Real> scale = __builtin_bit_cast(vec<Real>, exponent << (f::precision - 1));
  return y * scale * c::unscale;
}
