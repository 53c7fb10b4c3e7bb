// log(1 + e^z) for z <= 0 in two doubles. e stands for 2^-53.

// x y - p for p = x y rounded; exact where |x|, |y| < 2^996 and x y is 0 or at least 2^-960 by magnitude.
#ifdef ASSAY_FUSED
ASSAY_INLINE pack error_of_product(const pack& x, const pack& y, const pack& p) {
  return each<pack>([&](int k) ASSAY_INLINED { return ASSAY_FUSED(x.part[k], y.part[k], -p.part[k]); });
}
#else
// Dekker 1971, by Veltkamp's splitting.
ASSAY_INLINE pack error_of_product(const pack& x, const pack& y, const pack& p) {
  const pack scaled_x = 0x1.0000002p27 * x, scaled_y = 0x1.0000002p27 * y;
  const pack x_high = scaled_x - (scaled_x - x), y_high = scaled_y - (scaled_y - y), x_low = x - x_high,
             y_low = y - y_high;
  return ((x_high * y_high - p) + x_high * y_low + x_low * y_high) + x_low * y_low;
}
#endif

// The product for |x_low| <= e |x_high| and |y_low| <= 5 e |y_high|: the relative error is 24 e^2, and low is at most 7
// e of high. The cross products round to 5 e^2 and e^2, their sum to 6 e^2, that sum with the error of the first
// product to 7 e^2, and 5 e^2 are left out.
ASSAY_INLINE two_doubles operator*(const two_doubles& x, const two_doubles& y) {
  const pack p = x.high * y.high;
  return {p, error_of_product(x.high, y.high, p) + (x.high * y.low + x.low * y.high)};
}

// c + x y, for a step of Horner's scheme with |x y| <= |c| / 4 and x, y as above; |c_low| <= e |c_high|. Let x y = T c.
// The two sums of low parts round to e^2 (1 + 7 T) and e^2 (2 + 8 T) of c. So the step adds (3 + 15 T + 24 T) e^2 / (1
// - T) to T / (1 - T) times the relative error of y. Where T <= 1/8, this is 9.1 e^2 and 0.15 of that error; where T <
// 1/40, it is 4.1 e^2 and 0.03 of that error. The low part of the result is below 5 e of the high one.
ASSAY_INLINE two_doubles multiply_add(const two_doubles& x, const two_doubles& y, double c_high, double c_low) {
  const two_doubles p = x * y;
  const pack s = c_high + p.high;
  return {s, (p.high - (s - c_high)) + (c_low + p.low)};
}
// The same with a y of one double; x_low is left out.
ASSAY_INLINE two_doubles multiply_add(const two_doubles& x, const pack& y, double c_high, double c_low) {
  const pack p = x.high * y, s = c_high + p;
  return {s, (p - (s - c_high)) + c_low};
}

// x^2 with a relative error of 6 e^2, for |x_low| <= e |x_high|: 2 x_high x_low rounds to 2 e^2, the sum to 3 e^2, and
// e^2 is left out.
ASSAY_INLINE two_doubles squared(const two_doubles& x) {
  const pack p = x.high * x.high;
  return normalized(p, error_of_product(x.high, x.high, p) + 2.0 * (x.high * x.low));
}

/// Below this exponent e^z counts as 2^-894.5: the low part of e^z has all of its bits.
constexpr double smallest_exponent_of_two = -620.0;

// 1/n! and 1/(2k + 1) as two doubles; the second is the remainder of the first.
constexpr int whole_terms_of_exponential = 7, terms_of_exponential = 13;
constexpr double inverse_factorials[terms_of_exponential][2] = {{0x1p0, 0.0},
                                                                {0x1p0, 0.0},
                                                                {0x1p-1, 0.0},
                                                                {0x1.5555555555555p-3, 0x1.5555555555555p-57},
                                                                {0x1.5555555555555p-5, 0x1.5555555555555p-59},
                                                                {0x1.1111111111111p-7, 0x1.1111111111111p-63},
                                                                {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
                                                                {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
                                                                {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
                                                                {0x1.71de3a556c734p-19, -0x1.c154f8ddc6cp-73},
                                                                {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76},
                                                                {0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80},
                                                                {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83}};
constexpr int whole_terms_of_artanh = 12, terms_of_artanh = 29;
constexpr double inverse_odd_numbers[whole_terms_of_artanh][2] = {{0x1p0, 0.0},
                                                                  {0x1.5555555555555p-2, 0x1.5555555555555p-56},
                                                                  {0x1.999999999999ap-3, -0x1.999999999999ap-57},
                                                                  {0x1.2492492492492p-3, 0x1.2492492492492p-57},
                                                                  {0x1.c71c71c71c71cp-4, 0x1.c71c71c71c71cp-58},
                                                                  {0x1.745d1745d1746p-4, -0x1.745d1745d1746p-59},
                                                                  {0x1.3b13b13b13b14p-4, -0x1.3b13b13b13b14p-58},
                                                                  {0x1.1111111111111p-4, 0x1.1111111111111p-60},
                                                                  {0x1.e1e1e1e1e1e1ep-5, 0x1.e1e1e1e1e1e1ep-61},
                                                                  {0x1.af286bca1af28p-5, 0x1.af286bca1af28p-59},
                                                                  {0x1.8618618618618p-5, 0x1.8618618618618p-59},
                                                                  {0x1.642c8590b2164p-5, 0x1.642c8590b2164p-60}};

// e^z for -620 <= z <= 0, with a relative error of 2^-95.
//
// z = k log 2 + r with |k| < 896. C_1 has 33 bits and C_2 43: their products with k are exact, and so is z_high - k C_1
// (softplus.ipp). The roundings are: the sum of z_low, at most 2^-44, with k C_3: 2^-97; its sum with the error of the
// sum before it: 2^-97; C_3 and its product: 2^-117. So the error of r, which is below 0.34658, is less than 2^-95.9.
//
// x = r / 16, |x| < 0.02167 < 1/46. The terms of e^x from x^7/7! to x^12/12! are computed in one double. They are
// 4.5e-16 of the whole and have a relative error of 5 e: 21 e^2. The series leaves out x^13/13! < 3.1 e^2. Horner's
// scheme in two doubles adds 4.3 e^2: together the error of e^x is less than 29 e^2. It is squared four times: 16 29
// e^2 + (8 + 4 + 2 + 1) 6 e^2 < 555 e^2 < 2^-96.8. With the error of r: below 2^-95.2.
ASSAY_INLINE two_doubles exponential(const two_doubles& z) {
  constexpr double anchor = 0x1.8p52, log2_by_1 = 0x1.71547652b82fep0;
  constexpr double part_1 = 0x1.62e42feep-1, part_2 = 0x1.a39ef35793cp-33, part_3 = 0x1.d9cc01f97b57ap-79;
  const pack shifted = z.high * log2_by_1 + anchor, k = shifted - anchor;
  const exact_sum nearly = exactly(z.high - k * part_1, -(k * part_2));
  const exact_sum r = exactly(nearly.sum, nearly.error + (z.low - k * part_3));
  const two_doubles x{0x1p-4 * r.sum, 0x1p-4 * r.error};
  pack rest = broadcast(inverse_factorials[terms_of_exponential - 1][0]);
  repeat<terms_of_exponential - 1 - whole_terms_of_exponential>(
      [&](int n) ASSAY_INLINED { rest = inverse_factorials[terms_of_exponential - 2 - n][0] + x.high * rest; });
  constexpr int last = whole_terms_of_exponential - 1;
  two_doubles p = multiply_add(x, rest, inverse_factorials[last][0], inverse_factorials[last][1]);
  repeat<last>([&](int n) ASSAY_INLINED {
    p = multiply_add(x, p, inverse_factorials[last - 1 - n][0], inverse_factorials[last - 1 - n][1]);
  });
  p = normalized(p.high, p.low);
  repeat<4>([&](int) ASSAY_INLINED { p = squared(p); });
  const pack scale = each<pack>([&](int i) ASSAY_INLINED {
    const register_of_bits exponent = reinterpret_cast<register_of_bits>(shifted.part[i]) << 52;
    return reinterpret_cast<register_of_doubles>(reinterpret_cast<register_of_bits>(register_of_doubles{} + 1.0) +
                                                 exponent);
  });
  return {p.high * scale, p.low * scale};
}

// u / (c + u) for 0 < u <= 1 + 2^-95 and c = 1 or 2, with a relative error of 48 e^2. The sum of low parts rounds to 2
// e^2. The inverse i has an error of e, and u_high i of 2 e, so u_high - p is exact (Sterbenz) and at most 3.1 e u. The
// remainder is the sum of that, of the product's error (4.2 e^2), and of u_low - q d_low (product 2 e^2, difference 3
// e^2): below 7.2 e u (7.2 e^2). It is multiplied by i, which itself has an error of e, with 2 e for d_low, which is
// left out, and e for the product: 29 e^2.
ASSAY_INLINE two_doubles quotient_by_sum(const two_doubles& u, double c) {
  const two_doubles d = normalized(broadcast(c), u.high);
  const pack d_low = d.low + u.low, i = 1.0 / d.high, q = u.high * i, p = q * d.high;
  const pack remainder = ((u.high - p) - error_of_product(q, d.high, p)) + (u.low - q * d_low);
  return normalized(q, remainder * i);
}

// log(1 + u) for 0 < u <= 1 + 2^-95, with a relative error of 2^-93: 2 artanh y = 2 y (1 + t/3 + t^2/5 + ...), t = y^2,
// y = u / (2 + u) <= 1/3. The error of artanh is 1.09 times that of y, 53 e^2; t adds an error of 6 e^2, which counts
// 0.05.
//
// The terms from t^12/25 to t^28/57 are computed in one double. They are 1.6e-13 of the whole and have a relative error
// of 4.5 e: 6300 e^2. The series leaves out t^29/59 / (1 - t) < 2^-97.5. Horner's scheme in two doubles adds 10.8 e^2,
// and the product with y 24 e^2. Together below 6390 e^2 + 2^-97.5 < 2^-93.
ASSAY_INLINE two_doubles logarithm_of_one_plus(const two_doubles& u) {
  const two_doubles y = quotient_by_sum(u, 2.0), t = squared(y);
  pack rest = broadcast(1.0 / (2 * terms_of_artanh - 1));
  repeat<terms_of_artanh - 1 - whole_terms_of_artanh>(
      [&](int k) ASSAY_INLINED { rest = 1.0 / (2 * (terms_of_artanh - 2 - k) + 1) + t.high * rest; });
  constexpr int last = whole_terms_of_artanh - 1;
  two_doubles sum = multiply_add(t, rest, inverse_odd_numbers[last][0], inverse_odd_numbers[last][1]);
  repeat<last>([&](int k) ASSAY_INLINED {
    sum = multiply_add(t, sum, inverse_odd_numbers[last - 1 - k][0], inverse_odd_numbers[last - 1 - k][1]);
  });
  const two_doubles half = y * sum;
  return normalized(2.0 * half.high, 2.0 * half.low);
}

// The arithmetic that the recurrence needs, in two doubles.
struct in_two_doubles {
  static constexpr bool has_low_parts = true;
  static constexpr double least_exponent = smallest_exponent_of_two, least_counted = -75.0;

  // All sums but the last are exact.
  static ASSAY_INLINE difference subtract(const pack& high, const pack& low, const pack& h) {
    const exact_sum first = exactly(high, -h), second = exactly(first.error, low), d = exactly(first.sum, second.sum);
    return {d.sum, d.error, magnitude(second.error)};
  }
  // An error of 2^-95 in u changes log(1 + u) by as much at most: 2^-95.2 + 2^-93 < 2^-92.7.
  static ASSAY_ONCE softplus_parts softplus(const pack& z, const pack& z_low) {
    const two_doubles u = exponential(two_doubles{z, z_low}), sum = logarithm_of_one_plus(u);
    return {u.high, u.low, sum.high, sum.low, 0x1p-92 * sum.high};
  }
  // u / (1 + u): 2^-95.2 from u, and 48 e^2 < 2^-100.
  static constexpr double error_of_weight = 0x1p-94;
  static ASSAY_ONCE two_doubles weight(const pack& u, const pack& u_low) {
    return quotient_by_sum(two_doubles{u, u_low}, 1.0);
  }
  // 24 e^2 < 2^-101 of itself; the addition that normalizes the sum of both parts is exact.
  static constexpr double error_of_product = 0x1p-101;
  static ASSAY_INLINE two_doubles product(const two_doubles& x, const two_doubles& y) {
    const two_doubles p = x * y;
    return normalized(p.high, p.low);
  }
};
