// position * frequency in quarter turns, minus the nearest integer.
//
// Domain: the position is 0 or at least 2^-400 in magnitude. The frequency is high + middle + low; high and middle have
// 26 bits each, and low is at most half an ulp of their sum. The frequency is 0 or at least 2^-500 in magnitude. The
// product is below 2^40 quarter turns. Outside of this domain, and for infinities and NaN, the rest is NaN.
//
// Products of 26 bits give the exact error of the rounded product of the position and high + middle [Dekker 1971].
// Subtracting the nearest integer from the product is exact. The integer is found by adding 1.5 2^52, whose ulp is 1.
//
// Bound: 0.75 2^-105 |position * frequency| quarter turns. It covers the roundings of low and of its product.

constexpr std::uint64_t sign_bit = std::uint64_t{1} << 63;
constexpr double nearest_integer = 0x1.8p52;
constexpr double smallest_position = 0x1p-400, angle_limit = 0x1p40;

// A position in all lanes. `high` has 26 bits; `low` has 26 bits and a sign.
struct split_position {
  vec<double> whole, high, low;
};

inline split_position split(double position) {
  const bool tiny = position != 0.0 && -smallest_position < position && position < smallest_position;
  const vec<double> whole = broadcast(tiny ? __builtin_nan("") : position);
  const vec<double> high = first_bits(as_number(as_bits(whole) + (std::uint64_t{1} << 26)));
  return {whole, high, whole - high};
}

// The angle is rest + error + correction in quarter turns. |rest| is at most slightly above 1/2, and the other two are
// at most 2^-52 |position * frequency|.
struct reduced_angle {
  vec<double> rest, error, correction;
  bits_of<double> quarter;  // the last two bits of the integer
};

inline reduced_angle reduced(const split_position& m, vec<double> high, vec<double> middle, vec<double> low) {
  const vec<double> product = m.whole * (high + middle), shifted = product + nearest_integer;
  const auto known = as_number(as_bits(product) & ~sign_bit) < angle_limit;
  const vec<double> error = (((m.high * high - product) + m.low * high) + m.high * middle) + m.low * middle;
  return {known ? product - (shifted - nearest_integer) : broadcast(__builtin_nan("")), error, m.whole * low,
          as_bits(shifted)};
}

constexpr double half_pi_high = 0x1.921fb5p+0;  // 25 bits
constexpr double half_pi_low = 0x1.110b4611a6263p-26;

// Converts quarter turns to radians. `high` is exact and has 51 bits. `low` is at most 2^-25 of it, besides the share
// of the low part of the turns.
inline two_part in_radians(const two_part& turns) {
  const vec<double> first = first_bits(turns.high), rest = (turns.high - first) + turns.low;
  return {first * half_pi_high, first * half_pi_low + rest * (half_pi_high + half_pi_low)};
}

// The effect of the whole quarter turns on an angle's cosine and sine: (c, s), (-s, c), (-c, -s), (s, -c).
struct quarter_turned {
  bits_of<double> swapped, cosine_sign, sine_sign;
  explicit quarter_turned(bits_of<double> quarter)
      : swapped(-(quarter & 1)), cosine_sign((quarter + 1) << 62 & sign_bit), sine_sign(quarter << 62 & sign_bit) {}
  void turn(vec<double>& cosine, vec<double>& sine) const {
    const bits_of<double> c = as_bits(cosine), s = as_bits(sine), difference = (c ^ s) & swapped;
    cosine = as_number(c ^ difference ^ cosine_sign);
    sine = as_number(s ^ difference ^ sine_sign);
  }
};
