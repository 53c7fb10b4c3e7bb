// Cosine and sine of position * frequency to more digits than a double has, each in two parts, for one position and
// many frequencies. A rotation in f64 needs them so that its results are rounded about once.
//
// Domain and special values: see reduction.ipp. Outside of the domain all parts are NaN, and the caller computes them
// in another way. Angle 0 gives exactly 1 and 0.
//
// Algorithm: |angle| is j 2^-9 quarter turns plus a rest t of at most 2^-9.3 radians [Gal 1986: tables of steps]. Let
// the cosine C and the sine S of the steps have two parts each, C1 + C2 and S1 + S2, where C1 and S1 have 26 bits. Let
// sin t = u1 + u2 and 1 - cos t = v1 + v2, where u1 and v1 have 26 bits. Then
//   cos = C1 - S1 u1 - C1 v1 + (C2 - (S u2 + S2 u1) - (C v2 + C2 v1)),
//   sin = S1 + C1 u1 - S1 v1 + (S2 + (C u2 + C2 u1) - (S v2 + S2 v1)),
// where the products of the first parts are exact and are added with their rounding errors. All numbers in brackets are
// below 2^-26.
//
// Lanes: independent. Bound: 2^-78 + 2^-105 |angle|. The measured largest error, the same on all instruction sets, is
// 0.886 of it, at position 0x1.0914bcp+22 and frequency 0x1.6ed4edf42323p-16, over 11760000 angles up to 2^40 against
// MPFR. tests/rotations.cpp repeats the measurement.

constexpr double nearest_step = 0x1.8p43;  // ulp 2^-9

// C1, C2, S1 and S2 of the steps.
struct step_lanes {
  vec<double> part[4];
};

inline step_lanes steps_at(const double (*table)[4], bits_of<double> index) {
  step_lanes s{};
  repeat<lane_count<double>>([&](int lane) {
    const double* row = table[index[lane]];
    repeat<4>([&](int k) { s.part[k][lane] = row[k]; });
  });
  return s;
}

// For a small angle t: u1 + u2 = sin t and v1 + v2 = 1 - cos t. The first omitted terms are below 2^-100 and 2^-90.
struct small_rotation {
  vec<double> u1, u2, v1, v2;
};

inline small_rotation rotation_of_small(const two_part& turns) {
  const auto [large, small] = in_radians(turns);
  const vec<double> t = large + small, t1 = first_bits(t), t2 = (large - t1) + small;
  const vec<double> square = t * t, half = 0.5 * (t1 * t1), v1 = first_bits(half);
  const vec<double> u2 = t2 - t * square * (1.0 / 6 - square * (1.0 / 120 - square * (1.0 / 5040)));
  const vec<double> v2 = (half - v1) + (t2 * (t1 + 0.5 * t2) - square * square * (1.0 / 24 - square * (1.0 / 720)));
  return {t1, u2, v1, v2};
}

// Returns x + y + z + small; the first part has 26 bits. Precondition: |x| >= |y| or x = 0, and |y| >= |z|.
inline two_part split_sum(vec<double> x, vec<double> y, vec<double> z, vec<double> small) {
  const two_part first = sum_to_larger(x, y), second = sum_to_larger(first.high, z);
  const vec<double> high = first_bits(second.high);
  return {high, (second.high - high) + ((first.low + second.low) + small)};
}

struct split_rotation_lanes {
  two_part cosine, sine;
};

inline split_rotation_lanes split_rotation(const double (*table)[4], const reduced_angle& angle) {
  const two_part small = sum(angle.error, angle.correction), rest = sum(angle.rest, small.high);
  const bits_of<double> negative = as_bits(rest.high) & sign_bit;
  const vec<double> high = as_number(as_bits(rest.high) ^ negative);
  const vec<double> low = as_number(as_bits(rest.low + small.low) ^ negative);
  const vec<double> shifted = high + nearest_step;
  const step_lanes step = steps_at(table, as_bits(shifted) & 511);
  const auto& [c1, c2, s1, s2] = step.part;
  const vec<double> c = c1 + c2, s = s1 + s2;
  const small_rotation t = rotation_of_small({high - (shifted - nearest_step), low});
  two_part cosine = split_sum(c1, -(s1 * t.u1), -(c1 * t.v1), c2 - ((s * t.u2 + s2 * t.u1) + (c * t.v2 + c2 * t.v1)));
  two_part sine = split_sum(s1, c1 * t.u1, -(s1 * t.v1), s2 + ((c * t.u2 + c2 * t.u1) - (s * t.v2 + s2 * t.v1)));
  sine = {as_number(as_bits(sine.high) ^ negative), as_number(as_bits(sine.low) ^ negative)};
  const quarter_turned quarters(angle.quarter);
  quarters.turn(cosine.high, sine.high);
  quarters.turn(cosine.low, sine.low);
  return {cosine, sine};
}

[[gnu::flatten]] inline void split_rotations(const rotation_block& b) noexcept {
  const split_position m = split(b.position);
  for_each_pack<double>(b.count, [&](auto place) {
    const auto high = load(b.high, place), middle = load(b.middle, place), low = load(b.low, place);
    constexpr int registers = sizeof high.part / sizeof high.part[0];
    reduced_angle angle[registers];
    repeat<registers>([&](int k) { angle[k] = reduced(m, high.part[k], middle.part[k], low.part[k]); });
    auto cosine = high, sine = high, cosine_low = high, sine_low = high;
    repeat<registers>([&](int k) {
      const split_rotation_lanes r = split_rotation(b.steps, angle[k]);
      cosine.part[k] = r.cosine.high;
      sine.part[k] = r.sine.high;
      cosine_low.part[k] = r.cosine.low;
      sine_low.part[k] = r.sine.low;
    });
    store(b.cosine, place, cosine);
    store(b.sine, place, sine);
    store(b.cosine_low, place, cosine_low);
    store(b.sine_low, place, sine_low);
  });
}
