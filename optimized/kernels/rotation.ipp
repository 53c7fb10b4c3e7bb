// cos and sin of position * frequency, for one position and many frequencies.
//
// Domain and special values: reduction.ipp; outside of it both are NaN, and the caller knows another way. Angle 0 gives
// exactly 1 and 0.
//
// Algorithm: the angle is reduced to x = high + low with |x| <= pi/4 and a little. Taylor polynomials in high,
// to which low is added as its differential [fdlibm, k_sin.c and k_cos.c].
//
// Lanes: independent. Bound: measured, the same on all instruction sets, against MPFR,
//   0.933 2^-53, both functions, at position 0x1.5efb1ee57956p+15 and frequency 1, 11760000 angles up to 2^40;
//   1.265 2^-53 of the sine where the angle is below 0.7, at position -0x1.0103cd7a5a8a9p+20 and frequency
//   0x1.0e2c6ab546f59p-21, 5511021 angles.
// tests/rotations.cpp repeats the measurement.

// Of x in sin x = x + x^3 (...) and cos x = 1 - x^2 / 2 + x^4 (...), to 2^-58 for |x| <= 0.7854 [fdlibm].
constexpr double sine_terms[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,  -1.98412698298579493134e-04,
                                 2.75573137070700676789e-06,  -2.50507602534068634195e-08, 1.58969099521155010221e-10};
constexpr double cosine_terms[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                   2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                   2.08757232129817482790e-09, -1.13596475577881948265e-11};

struct rotation_lanes {
  vec<double> cosine, sine;
};

inline rotation_lanes rotation(const reduced_angle& angle) {
  const two_part parts = in_radians({angle.rest, angle.error + angle.correction});
  const vec<double> x = parts.high + parts.low, lost = parts.low - (x - parts.high);
  const vec<double> square = x * x, half = 0.5 * square, large = 1.0 - half;
  vec<double> sine = parts.high + (parts.low + x * square * polynomial(square, sine_terms));
  vec<double> cosine =
      large + (((1.0 - large) - half) + (square * square * polynomial(square, cosine_terms) - x * lost));
  quarter_turned(angle.quarter).turn(cosine, sine);
  return {cosine, sine};
}

[[gnu::flatten]] inline void rotations(const rotation_block& b) noexcept {
  const split_position m = split(b.position);
  for_each_pack<double>(b.count, [&](auto at) {
    const auto high = load(b.high, at), middle = load(b.middle, at), low = load(b.low, at);
    constexpr int registers = sizeof high.part / sizeof high.part[0];
    reduced_angle angle[registers];
    repeat<registers>([&](int k) { angle[k] = reduced(m, high.part[k], middle.part[k], low.part[k]); });
    auto cosine = high, sine = high;
    repeat<registers>([&](int k) {
      const rotation_lanes r = rotation(angle[k]);
      cosine.part[k] = r.cosine;
      sine.part[k] = r.sine;
    });
    store(b.cosine, at, cosine);
    store(b.sine, at, sine);
  });
}
