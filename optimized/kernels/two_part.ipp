// Unevaluated sums of two doubles, without fused operations. The rounding errors of sums are found exactly, and
// products of 26 bits by 27 bits are exact.

inline vec<double> as_number(bits_of<double> x) { return __builtin_bit_cast(vec<double>, x); }
inline bits_of<double> as_bits(vec<double> x) { return __builtin_bit_cast(bits_of<double>, x); }

// Returns the first 26 bits of the significand, rounded towards zero. The rest, x minus these bits, is exact and has 27
// bits. Infinities are returned unchanged.
inline vec<double> first_bits(vec<double> x) { return as_number(as_bits(x) & ~((std::uint64_t{1} << 27) - 1)); }

// An unevaluated sum.
struct two_part {
  vec<double> high, low;
};

// Returns x + y exactly [Knuth 1998, section 4.2.2, theorem B].
inline two_part sum(vec<double> x, vec<double> y) {
  const vec<double> r = x + y, y_added = r - x;
  return {r, (x - (r - y_added)) + (y - y_added)};
}

// Returns x + y exactly if |x| >= |y| or x = 0 [Dekker 1971].
inline two_part sum_to_larger(vec<double> x, vec<double> y) {
  const vec<double> r = x + y;
  return {r, y - (r - x)};
}
