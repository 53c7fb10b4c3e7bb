// Turns the pairs (a, b) of all heads of a token by the token's rotations: (a c - b s, a s + b c). Features that belong
// to no pair are copied.
//
// Domain: all values. Infinities and NaN follow IEEE arithmetic, and they stay in their pair.
// f32 multiplies and adds in f64 and rounds once. f64 multiplies the first 26 bits of its factors, which is exact, and
// multiplies the remaining bits separately. Each result is therefore rounded about once, however large x is beside it.
// An infinite sum has no remainder.
//
// Lanes: independent. Bound: half an ulp of the result, plus 2.3 2^-53 (f32) or 2.5 (2^-78 + 2^-105 |angle|) (f64)
// times max(|a|, |b|) where results cancel. It was measured, the same on all instruction sets, with 3072000 pairs
// against MPFR and positions up to 2^31. tests/turned_pairs.cpp repeats the measurement.

// The number of double registers for the lanes of one register of Real.
template <class Real>
inline constexpr int doubles_of = lane_count<Real> / lane_count<double>;
template <class Real>
using widened = pack<double, doubles_of<Real>>;
typedef double two_registers __attribute__((vector_size(2 * vector_bytes)));

inline widened<double> widen(vec<double> x) { return {{x}}; }
inline widened<float> widen(vec<float> x) {
  constexpr int lanes = lane_count<double>;
  const auto all = __builtin_convertvector(x, two_registers);
  return [&]<int... K>(std::integer_sequence<int, K...>)->widened<float> {
    return {{__builtin_shufflevector(all, all, K...), __builtin_shufflevector(all, all, (lanes + K)...)}};
  }
  (std::make_integer_sequence<int, lanes>{});
}
inline vec<double> narrow(const widened<double>& x) { return x.part[0]; }
inline vec<float> narrow(const widened<float>& x) {
  return [&]<int... K>(std::integer_sequence<int, K...>)->vec<float> {
    const two_registers all = __builtin_shufflevector(x.part[0], x.part[1], K...);
    return __builtin_convertvector(all, vec<float>);
  }
  (std::make_integer_sequence<int, lane_count<float>>{});
}

// Takes lanes 0, 2, ... or 1, 3, ... of x and then of y. The inverse takes lanes From, From + 1, ... of x and y in
// turn.
template <int From, class Vector, int... K>
inline Vector every_second(Vector x, Vector y, std::integer_sequence<int, K...>) {
  return __builtin_shufflevector(x, y, (From + 2 * K)...);
}
template <int From, class Vector, int... K>
inline Vector in_turn(Vector x, Vector y, std::integer_sequence<int, K...>) {
  return __builtin_shufflevector(x, y, (From + K / 2 + K % 2 * static_cast<int>(sizeof...(K)))...);
}

// Returns a p + b q in double, where p and q have 26 bits and rests. If the sum is infinite or NaN, so is its error.
inline vec<double> combined(vec<double> a, two_part p, vec<double> b, two_part q) {
  const vec<double> a_high = first_bits(a), b_high = first_bits(b);
  const two_part large = sum(a_high * p.high, b_high * q.high);
  const vec<double> corrected =
      large.high + (((a - a_high) * p.high + (b - b_high) * q.high) + (a * p.low + b * q.low) + large.low);
  return corrected == corrected ? corrected : large.high;
}

// The coordinates of a register of pairs. The first pair has number `offset`.
template <class Real>
struct coordinates {
  vec<Real> first, second;
};

template <class Real>
inline coordinates<Real> turned(const turn_block<Real>& b, std::size_t offset, const coordinates<Real>& x) {
  const whole_registers<doubles_of<Real>> place{offset};
  const auto first = widen(x.first), second = widen(x.second), c = load(b.cosine, place), s = load(b.sine, place);
  if constexpr (sizeof(Real) == sizeof(float)) {
    using v = vec<double>;
    return {narrow(each([](v p, v q, v cosine, v sine) { return p * cosine - q * sine; }, first, second, c, s)),
            narrow(each([](v p, v q, v cosine, v sine) { return p * sine + q * cosine; }, first, second, c, s))};
  } else {
    const two_part cosine{c.part[0], load(b.cosine_low, place).part[0]},
        sine{s.part[0], load(b.sine_low, place).part[0]};
    const two_part minus_sine{-sine.high, -sine.low};
    return {combined(x.first, cosine, x.second, minus_sine), combined(x.first, sine, x.second, cosine)};
  }
}

// Turns a register of pairs of the head x.
template <bool HalfSplit, class Real>
inline void turn_register(const turn_block<Real>& b, std::size_t offset, const Real* x, Real* y) {
  constexpr int lanes = lane_count<Real>;
  const std::make_integer_sequence<int, lanes> each_lane{};
  const std::size_t low = HalfSplit ? offset : 2 * offset, high = HalfSplit ? offset + b.pairs : low + lanes;
  vec<Real> p, q;
  __builtin_memcpy(&p, x + low, sizeof p);
  __builtin_memcpy(&q, x + high, sizeof q);
  if constexpr (HalfSplit) {
    const coordinates<Real> r = turned<Real>(b, offset, {p, q});
    p = r.first, q = r.second;
  } else {
    const coordinates<Real> r =
        turned<Real>(b, offset, {every_second<0>(p, q, each_lane), every_second<1>(p, q, each_lane)});
    p = in_turn<0>(r.first, r.second, each_lane), q = in_turn<lanes / 2>(r.first, r.second, each_lane);
  }
  __builtin_memcpy(y + low, &p, sizeof p);
  __builtin_memcpy(y + high, &q, sizeof q);
}

// Turns the pairs from number `offset` on, which are fewer than a register holds. They are copied to a head that has as
// many pairs as a register.
template <bool HalfSplit, class Real>
inline void turn_rest(const turn_block<Real>& b, std::size_t offset, const Real* x, Real* y) {
  constexpr std::size_t lanes = lane_count<Real>;
  double angles[4][lanes] = {};
  Real padded[2 * lanes] = {};
  const std::size_t count = b.pairs - offset, step = HalfSplit ? 1 : 2, second = HalfSplit ? b.pairs : 1;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t t = offset + k;
    angles[0][k] = b.cosine[t], angles[1][k] = b.sine[t];
    if constexpr (sizeof(Real) == sizeof(double)) angles[2][k] = b.cosine_low[t], angles[3][k] = b.sine_low[t];
    padded[k] = x[step * t], padded[lanes + k] = x[step * t + second];
  }
  turn_register<true, Real>({1, 2 * lanes, lanes, true, angles[0], angles[1], angles[2], angles[3], padded, padded}, 0,
                            padded, padded);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t t = offset + k;
    y[step * t] = padded[k], y[step * t + second] = padded[lanes + k];
  }
}

template <bool HalfSplit, class Real>
inline void turn_heads(const turn_block<Real> b) {
  const Real* x = b.x;
  Real* y = b.y;
  for (std::size_t head = 0; head < b.heads; ++head, x += b.features, y += b.features) {
    std::size_t offset = 0;
    for (; b.pairs - offset >= lane_count<Real>; offset += lane_count<Real>) turn_register<HalfSplit>(b, offset, x, y);
    if (offset < b.pairs) turn_rest<HalfSplit>(b, offset, x, y);
    for (std::size_t k = 2 * b.pairs; k < b.features; ++k) y[k] = x[k];
  }
}

template <class Real>
[[gnu::flatten]] void turn(const turn_block<Real>& b) noexcept {
  b.half_split ? turn_heads<true>(b) : turn_heads<false>(b);
}
