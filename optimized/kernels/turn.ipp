// The pairs (a, b) of all heads of a token turned by their rotations: (a c - b s, a s + b c). What is no pair is
// copied.
//
// Domain: all values; infinities and NaN as IEEE arithmetic has it, and they stay in their pair.
// f32 multiplies and adds in f64 and rounds once. f64 multiplies the first 26 bits of its factors, which is exact, and
// what is left of them apart: each result is rounded about once, however large x is beside it. An infinite sum has no
// remainder.
//
// Lanes: independent. Bound: half an ulp of the result, and of max(|a|, |b|): in f32 2^-51, in f64 2^-76.

template <class Real>
struct beside;  // as many numbers of a type as a register has doubles
template <>
struct beside<float> {
  typedef float vector __attribute__((vector_size(vector_bytes / 2)));
};
template <>
struct beside<double> {
  typedef double vector __attribute__((vector_size(vector_bytes)));
};
template <class Real>
using beside_doubles = typename beside<Real>::vector;

// The first and the second coordinates of as many pairs.
struct pair_lanes {
  vec<double> first, second;
};

template <class Real, int... K>
inline pair_lanes apart(beside_doubles<Real> x, beside_doubles<Real> y, std::integer_sequence<int, K...>) {
  return {__builtin_convertvector(__builtin_shufflevector(x, y, (2 * K)...), vec<double>),
          __builtin_convertvector(__builtin_shufflevector(x, y, (2 * K + 1)...), vec<double>)};
}

// The lanes of x and y in turn, from lane `From` of each on.
template <class Real, int From, int... K>
inline beside_doubles<Real> in_turn(beside_doubles<Real> x, beside_doubles<Real> y, std::integer_sequence<int, K...>) {
  return __builtin_shufflevector(x, y, (From + K / 2 + K % 2 * lane_count<double>)...);
}

// Where the coordinates of the pairs lie in a head, for every layout: the pairs [offset, offset + lane_count) ...
template <class Real>
inline pair_lanes load_pairs(const turn_block<Real>& b, const Real* head, whole_registers<1> at) {
  beside_doubles<Real> x, y;
  const Real* from = head + (b.half_split ? at.offset : 2 * at.offset);
  __builtin_memcpy(&x, from, sizeof x);
  __builtin_memcpy(&y, from + (b.half_split ? b.pairs : lane_count<double>), sizeof y);
  if (!b.half_split) return apart<Real>(x, y, std::make_integer_sequence<int, lane_count<double>>{});
  return {__builtin_convertvector(x, vec<double>), __builtin_convertvector(y, vec<double>)};
}

template <class Real>
inline void store_pairs(const turn_block<Real>& b, Real* head, whole_registers<1> at, const pair_lanes& pairs) {
  constexpr int lanes = lane_count<double>;
  const auto first = __builtin_convertvector(pairs.first, beside_doubles<Real>);
  const auto second = __builtin_convertvector(pairs.second, beside_doubles<Real>);
  Real* to = head + (b.half_split ? at.offset : 2 * at.offset);
  const auto all = std::make_integer_sequence<int, lanes>{};
  const auto x = b.half_split ? first : in_turn<Real, 0>(first, second, all);
  const auto y = b.half_split ? second : in_turn<Real, lanes / 2>(first, second, all);
  __builtin_memcpy(to, &x, sizeof x);
  __builtin_memcpy(to + (b.half_split ? b.pairs : lanes), &y, sizeof y);
}

// ... or fewer.
template <class Real>
inline pair_lanes load_pairs(const turn_block<Real>& b, const Real* head, part_of_register at) {
  pair_lanes pairs{};
  for (std::size_t k = 0; k < at.count; ++k) {
    const std::size_t t = at.offset + k;
    pairs.first[k] = static_cast<double>(head[b.half_split ? t : 2 * t]);
    pairs.second[k] = static_cast<double>(head[b.half_split ? t + b.pairs : 2 * t + 1]);
  }
  return pairs;
}

template <class Real>
inline void store_pairs(const turn_block<Real>& b, Real* head, part_of_register at, const pair_lanes& pairs) {
  for (std::size_t k = 0; k < at.count; ++k) {
    const std::size_t t = at.offset + k;
    head[b.half_split ? t : 2 * t] = static_cast<Real>(pairs.first[k]);
    head[b.half_split ? t + b.pairs : 2 * t + 1] = static_cast<Real>(pairs.second[k]);
  }
}

// a p + b q, p and q of 26 bits with rests.
inline vec<double> combined(vec<double> a, two_part p, vec<double> b, two_part q) {
  const vec<double> a_high = first_bits(a), b_high = first_bits(b);
  const two_part large = sum(a_high * p.high, b_high * q.high);
  const vec<double> corrected =
      large.high + (((a - a_high) * p.high + (b - b_high) * q.high) + (a * p.low + b * q.low) + large.low);
  return large.high - large.high == 0.0 ? corrected : large.high;
}

template <class Real, class At>
inline void turn_pairs(const turn_block<Real>& b, const Real* x, Real* y, At at) {
  const pair_lanes pairs = load_pairs(b, x, at);
  const vec<double> c = load(b.cosine, at).part[0], s = load(b.sine, at).part[0];
  if constexpr (sizeof(Real) == sizeof(float)) {
    store_pairs(b, y, at, {pairs.first * c - pairs.second * s, pairs.first * s + pairs.second * c});
  } else {
    const two_part cosine{c, load(b.cosine_low, at).part[0]}, sine{s, load(b.sine_low, at).part[0]};
    store_pairs(
        b, y, at,
        {combined(pairs.first, cosine, -pairs.second, sine), combined(pairs.first, sine, pairs.second, cosine)});
  }
}

template <class Real>
[[gnu::flatten]] void turn(const turn_block<Real>& b) noexcept {
  constexpr std::size_t lanes = lane_count<double>;
  for (std::size_t head = 0; head < b.heads; ++head) {
    const Real* x = b.x + head * b.features;
    Real* y = b.y + head * b.features;
    std::size_t offset = 0;
    for (; b.pairs - offset >= lanes; offset += lanes) turn_pairs(b, x, y, whole_registers<1>{offset});
    if (offset < b.pairs) turn_pairs(b, x, y, part_of_register{offset, b.pairs - offset});
    for (std::size_t k = 2 * b.pairs; k < b.features; ++k) y[k] = x[k];
  }
}
