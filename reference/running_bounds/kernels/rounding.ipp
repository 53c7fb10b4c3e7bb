// From a number with a bound to the correctly rounded value of a format, or to "undecided".

// A truth lies within `radius` of high + low; |low| is at most half an ulp of high. Where `above` is set, the truth
// does not lie below high + low, and it lies on it only where the radius is 0. Where `vanishes` is set, the truth is
// below 2^-1075 by magnitude, and high and low are 0. -inf has radius 0, whatever the other numbers are.
struct bounded_pack {
  pack high, low, radius;
  masks above, vanishes;
};

// Where nothing is decided, the radius has a minus sign (also at 0), and its negative is the bound.
struct rounded_pack {
  pack value, low, radius;
};

// 2^floor(log2 |x|), 0 for a subnormal x.
ASSAY_INLINE pack binade(const pack& x) {
  return each<pack>([&](int k) ASSAY_INLINED {
    return reinterpret_cast<register_of_doubles>(reinterpret_cast<register_of_bits>(x.part[k]) & 0x7ff0000000000000);
  });
}

// The remainder beside the value, and the bound. Both sums are exact except for the last one, which is rounded up.
// There is no remainder where the format does not hold the value, or where a sum is not finite.
ASSAY_INLINE rounded_pack with_remainder(const bounded_pack& x, const pack& value, const masks& decided,
                                         const masks& held) {
  const masks minus = x.high == minus_infinity, known = held & (x.radius < __builtin_inf());
  const exact_sum low = exactly(x.high - value, x.low);
  const pack sum = (x.radius + magnitude(low.error)) * (1.0 + 0x1p-50);
  const pack radius = select(x.vanishes, broadcast(0x1p-1074), sum);
  return {select(minus, x.high, where(known, value)), where(known, low.sum),
          where(~minus, select(known, select(decided, radius, -radius), broadcast(minus_infinity)))};
}

// Rounds to a format of at most 51 bits. Let q be its last place at `high`, |high| < 2^p q. Adding 1.5 2^52 q rounds to
// a multiple r of q, to nearest, ties to even. The rest x = high - r is exact and |x| <= q/2. Unless |x| = q/2, nothing
// within |low| + radius of high rounds elsewhere, if that sum is less than q/2 - |x|, which is exact unless q is the
// smallest last place, and if it is less than q/4: r may be a power of two, below which boundaries are as near as that.
// The factor 1 + 2^-50 covers the roundings of both sides. At |x| = q/2, a tie, the side of the truth decides; the
// difference low - radius has the sign of the exact one.
ASSAY_INLINE rounded_pack round_to_short(const bounded_pack& x, const target_format& f) {
  const pack power = larger(binade(x.high), f.smallest_normal), q = power * f.last_place;
  const pack anchor = q * 0x1.8p52, half = q * 0.5;
  const pack nearest = (x.high + anchor) - anchor, rest = magnitude(x.high - nearest), room = half - rest;
  const pack reach = (magnitude(x.low) + x.radius) * (1.0 + 0x1p-50);
  const masks tie = room == 0.0, exact = x.radius == 0.0;
  const masks above = (x.low - x.radius > 0.0) | ((x.low == 0.0) & x.above & ~exact), below = x.low + x.radius < 0.0;
  const pack value = select(tie & above, x.high + half, select(tie & below, x.high - half, nearest));
  const masks sided = tie & (above | below | (exact & (x.low == 0.0)));
  const masks decided = (reach < q * 0.25) & ((reach < room) | sided);
  return with_remainder(x, value, decided, magnitude(value) < f.largest * (1 + 0x1p-52));
}

// Rounds to f64. The result is `high`, which is the rounded sum, if |low| + radius stays below half an ulp (a quarter
// where high is a power of two), or if the sum is the truth. Where the sum is a tie and the truth lies above it, the
// result is the next number above.
ASSAY_INLINE rounded_pack round_to_f64(const bounded_pack& x) {
  const pack power = binade(x.high), half = power * 0x1p-53;
  const masks is_power = magnitude(x.high) == power, exact = x.radius == 0.0;
  const pack reach = (magnitude(x.low) + x.radius) * (1.0 + 0x1p-50);
  const masks normal = power > 0x1p-900, sided = x.above & ~is_power & (x.radius < half * 0.25);
  const masks up = sided & ~exact & (x.low == half);
  const masks decided =
      (normal & ((reach < half * select(is_power, broadcast(0.5), broadcast(1.0))) | up | (sided & (x.low == -half)))) |
      exact | x.vanishes;
  return with_remainder(x, select(up, x.high + (half + half), x.high), decided, magnitude(x.high) < 0x1p1000);
}

ASSAY_INLINE rounded_pack round_to(const target_format& f, const bounded_pack& x) {
  return f.is_f64 ? round_to_f64(x) : round_to_short(x, f);
}

ASSAY_ONCE void store(const bounded_field& field, const lanes_of_tokens& lanes, std::size_t token,
                      const target_format& f, const bounded_pack& x) {
  const rounded_pack r = round_to(f, x);
  lanes.store(field.value, token, r.value);
  lanes.store(field.low, token, r.low);
  lanes.store(field.radius, token, r.radius);
}
