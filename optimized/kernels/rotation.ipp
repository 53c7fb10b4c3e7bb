// Cosine and sine of position * frequency, for one position and many frequencies.
//
// Domain and special values: see reduction.ipp. Outside of the domain both results are NaN, and the caller computes
// them in another way. Angle 0 gives exactly 1 and 0.
//
// Algorithm: the angle is reduced to x = high + low, where |x| is at most slightly above pi/4. The results are Taylor
// polynomials in high, and low is added as a differential.
//
// Lanes: independent. Bound: measured against MPFR, the same on all instruction sets:
//   0.924 2^-53, both functions, at position 0x1.165cbf046e98fp+14 and frequency 1, 7840000 angles up to 2^40;
//   1.281 2^-53 of the sine where the angle is below 0.7, at position 141 and frequency 0x1.3016d5f449f24p-8 -
//   0x1.aa28c1e8d8482p-63, 3673164 angles.
// tests/rotations.cpp repeats the measurement.

// Taylor's series: sin x = x + x^3 (...), cos x = 1 - x^2 / 2 + x^4 (...). For |x| <= 0.7854 the omitted terms are
// below 2^-63 (sine) and 2^-68 (cosine).
constexpr double sine_terms[] = {
    -1.0 / 6.0,        1.0 / 120.0,        -1.0 / 5040.0,          1.0 / 362880.0,
    -1.0 / 39916800.0, 1.0 / 6227020800.0, -1.0 / 1307674368000.0, 1.0 / 355687428096000.0};
constexpr double cosine_terms[] = {
    1.0 / 24.0,        -1.0 / 720.0,         1.0 / 40320.0,          -1.0 / 3628800.0,
    1.0 / 479001600.0, -1.0 / 87178291200.0, 1.0 / 20922789888000.0, -1.0 / 6402373705728000.0};

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
  for_each_pack<double>(b.count, [&](auto place) {
    const auto high = load(b.high, place), middle = load(b.middle, place), low = load(b.low, place);
    constexpr int registers = sizeof high.part / sizeof high.part[0];
    reduced_angle angle[registers];
    repeat<registers>([&](int k) { angle[k] = reduced(m, high.part[k], middle.part[k], low.part[k]); });
    auto cosine = high, sine = high;
    repeat<registers>([&](int k) {
      const rotation_lanes r = rotation(angle[k]);
      cosine.part[k] = r.cosine;
      sine.part[k] = r.sine;
    });
    store(b.cosine, place, cosine);
    store(b.sine, place, sine);
  });
}
