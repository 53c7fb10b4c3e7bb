// log(1 + e^z) for z <= 0 in one double. e stands for 2^-53.

// A number high + low; |low| is at most half an ulp of high unless a comment says otherwise.
struct two_doubles {
  pack high, low;
};

// x + y exactly, where |x| >= |y| or x = 0 (Dekker 1971: Fast2Sum).
ASSAY_INLINE two_doubles normalized(const pack& x, const pack& y) {
  const pack s = x + y;
  return {s, y - (s - x)};
}

/// Below this exponent e^z counts as 2^-995: exponents stay those of normal numbers.
constexpr double smallest_exponent = -690.0;

// e^z for -690 <= z <= 0, with a relative error of at most 3 e.
//
// z = k log 2 + r with |k| < 997. C_1 has 33 bits, so k C_1 is exact; z - k C_1 is exact too: for k = 0 it is z;
// otherwise |z| > 1/4, both are multiples of 2^-54 and their difference is below 1/2. k log 2 - k C_1 - k C_2 and the
// rounding of k C_2 are below 2^-74. k is the nearest integer to a product with an error below 2^-43, so |r| < 0.34658
// and the last subtraction rounds to e/4.
//
// p = 1 + r + ... + r^13/13! leaves out r^14/14! < 0.04 e for r > 0 (times e^r) and 0.06 e of e^r for r < 0. Horner's
// scheme, A_n = 1/n! + r A_(n+1), where half an ulp is e/8 in [1/8, 1/4), e/2 in [1/2, 1) and e in [1, 2):
//   A_3 < 0.19:  coefficient e/8, product 0.01 e, sum e/8, from A_4 0.04 e:                  below 0.30 e
//   A_2 < 0.57:  product 0.04 e, sum e/2, from A_3 0.11 e:                                  below 0.65 e
//   A_1 < 1.20:  product e/8, sum e (e/2 where r < 0), from A_2 0.23 e:                     below 1.36 e (0.86 e)
//   p:           product e/4, sum e (e/2 where r < 0), from A_1 0.48 e (0.30 e):            below 1.73 e (1.05 e)
// of a result that is at least 1 (0.707 where r < 0): 1.73 e, or 1.49 e. With e/4 from r and what is left out: below
// 2.1 e. The scale 2^k is exact.
ASSAY_INLINE pack exponential(const pack& z) {
  constexpr double anchor = 0x1.8p52, log2_by_1 = 0x1.71547652b82fep0;
  constexpr double log2_leading = 0x1.62e42feep-1, log2_rest = 0x1.a39ef35793c76p-33;
  const pack shifted = z * log2_by_1 + anchor, k = shifted - anchor;
  const pack r = (z - k * log2_leading) - k * log2_rest;
  constexpr double inverse_factorials[14] = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  pack p = broadcast(inverse_factorials[13]);
  repeat<13>([&](int n) ASSAY_INLINED { p = inverse_factorials[12 - n] + r * p; });
  return each<pack>([&](int i) ASSAY_INLINED {
    const register_of_bits exponent = reinterpret_cast<register_of_bits>(shifted.part[i]) << 52;
    return reinterpret_cast<register_of_doubles>(reinterpret_cast<register_of_bits>(p.part[i]) + exponent);
  });
}

// log(1 + u) for 0 < u <= 1 + 3 e, with a relative error of at most 4.5 e: 2 artanh(y / 2) = y P(t), P = 1 + t/12 +
// t^2/80 + ... + t^k / (4^k (2k + 1)) + ..., t = y^2, y = u / (1 + u/2) <= 2/3. (Where u is a little above 1, y is a
// little above 2/3; no figure changes.)
//
// The roundings of 1 + u/2 and of the quotient give y a relative error of 2 e. The error of artanh is at most 1.09
// times as much: 2.18 e. P is replaced by its interpolant at the 11 Chebyshev points of [0, 4/9], which is off by at
// most 2 (1/9)^11 max |P^(11)| / 11! (Davis 1963, section 3.3), and P^(11) / 11! <= 4^-11 (1 - t/4)^-12 / 23 <= 4^-11
// (9/8)^12 / 23: below 0.03 e. The roundings of its coefficients count 0.06 e, that of t 0.05 e. In Horner's scheme the
// part added to 1 is below 0.04: its product rounds to e/32, and its own error is less than 0.15 e 4/9; the last sum
// rounds to e, and so does the product with y. Together below 4.5 e.
constexpr double artanh_coefficients[11] = {0x1p0,
                                            0x1.5555555555527p-4,
                                            0x1.99999999a1c4fp-7,
                                            0x1.249249201beacp-9,
                                            0x1.c71c7445b2127p-12,
                                            0x1.745caf74cbe5ep-14,
                                            0x1.3b1e2bc8a12dep-16,
                                            0x1.106443d797a85p-18,
                                            0x1.f00852a5c69fap-21,
                                            0x1.54f8c703ce149p-23,
                                            0x1.5d1081172f887p-24};
ASSAY_INLINE pack logarithm_of_one_plus(const pack& u) {
  const pack y = u / (1.0 + 0.5 * u), t = y * y;
  pack p = broadcast(artanh_coefficients[10]);
  repeat<10>([&](int k) ASSAY_INLINED { p = artanh_coefficients[9 - k] + t * p; });
  return y * p;
}

// t - h = d + low to within `error`, for d above the least exponent of the arithmetic. Below it, t - h lies below that
// exponent and `error`.
struct difference {
  pack d, low, error;
};

// log(1 + e^z) = sum + low to within `error`; e^z = power + power_low, and `power` alone has a relative error of 3 e at
// most.
struct softplus_parts {
  pack power, power_low, sum, low, error;
};

// The arithmetic that the recurrence needs, in one double.
struct in_doubles {
  static constexpr bool has_low_parts = false;
  static constexpr double least_exponent = smallest_exponent;
  // Below this exponent e^z goes to the radius: 2^-63.
  static constexpr double least_counted = -44.0;

  // The two differences round: each to e of itself, the first one to e (|d| + |low|).
  static ASSAY_INLINE difference subtract(const pack& high, const pack& low, const pack& h) {
    const pack d = (high - h) + low, size = -larger(-magnitude(d), least_exponent);
    return {d, broadcast(0.0), 0x1p-52 * (size + magnitude(low))};
  }
  // An error of 3 e in u changes log(1 + u) by 3 e u / (1 + u) at most, which is below 3 e of it: together below 8 e.
  static ASSAY_INLINE softplus_parts softplus(const pack& z, const pack&) {
    const pack u = exponential(z), sum = logarithm_of_one_plus(u);
    return {u, broadcast(0.0), sum, broadcast(0.0), 0x1p-50 * sum};
  }
  // u / (1 + u): 3 e from u, e from the sum, e from the quotient.
  static constexpr double error_of_weight = 0x1.8p-51;
  static ASSAY_INLINE two_doubles weight(const pack& u, const pack&) { return {u / (1.0 + u), broadcast(0.0)}; }
  // If y has two doubles: e for y_low, which is left out, and e for the product.
  static constexpr double error_of_product = 0x1.2p-52;
  static ASSAY_INLINE two_doubles product(const two_doubles& x, const two_doubles& y) {
    return {x.high * y.high, broadcast(0.0)};
  }
};
