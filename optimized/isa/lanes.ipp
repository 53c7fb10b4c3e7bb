// Comparisons and choices lane by lane, in the vector extensions.
//
// Included inside the unnamed namespace of an instruction set, after kernels/vector.ipp. isa/avx512.ipp holds the same
// operations with the mask registers of AVX-512.

// Lanes in which a comparison holds.
template <class Real>
struct format_mask;
template <>
struct format_mask<float> {
  typedef std::int32_t type __attribute__((vector_size(vector_bytes)));
};
template <>
struct format_mask<double> {
  typedef std::int64_t type __attribute__((vector_size(vector_bytes)));
};
template <class Real>
using mask = typename format_mask<Real>::type;

template <class Real>
inline mask<Real> less(vec<Real> x, vec<Real> y) {
  return x < y;
}

template <class Real>
inline mask<Real> equal(vec<Real> x, vec<Real> y) {
  return x == y;
}

template <class Real>
inline mask<Real> unordered(vec<Real> x, vec<Real> y) {
  return ~((x <= y) | (x > y));
}

template <class Real>
inline mask<Real> differ(vec<Real> x, vec<Real> y) {
  return x != y;
}

// x < y, or one of them NaN.
template <class Real>
inline mask<Real> not_at_least(vec<Real> x, vec<Real> y) {
  return ~(x >= y);
}

// x > y or one of them NaN, but false where x = +inf.
template <class Real>
inline mask<Real> not_at_most_nor_infinite(vec<Real> x, vec<Real> y) {
  return ~(x <= y) & (x != infinity<Real>);
}

// Negative, or -0.
inline mask<double> has_sign(vec<double> x) { return __builtin_bit_cast(mask<double>, x) < 0; }

template <class Real>
inline vec<Real> where(mask<Real> k, vec<Real> x, vec<Real> y) {
  return k ? x : y;
}

// -x in the lanes of k, x in the others.
template <class Real>
inline vec<Real> minus_where(mask<Real> k, vec<Real> x) {
  return k ? -x : x;
}

// x in the lanes of k where it is finite, 0 in the others.
template <class Real>
inline vec<Real> finite_or_zero(mask<Real> k, vec<Real> x) {
  return (k & (x - x == Real(0))) ? x : vec<Real>{};
}

// x + y in the lanes of k, x in the others.
template <class Real>
inline vec<Real> add_where(mask<Real> k, vec<Real> x, vec<Real> y) {
  return k ? x + y : x;
}

// x + y in the lanes of k, x - y in the others.
template <class Real>
inline vec<Real> add_or_subtract(mask<Real> k, vec<Real> x, vec<Real> y) {
  return k ? x + y : x - y;
}

// The second where they are unordered.
template <class Real>
inline vec<Real> larger(vec<Real> x, vec<Real> y) {
  return x > y ? x : y;
}
template <class Real>
inline vec<Real> smaller(vec<Real> x, vec<Real> y) {
  return x < y ? x : y;
}

// x y + z in the lanes of k, 0 in the others. `fused` is that of the instruction set.
template <class Real>
inline vec<Real> fused_or_zero(mask<Real> k, vec<Real> x, vec<Real> y, vec<Real> z) {
  return k ? fused<Real>(x, y, z) : vec<Real>{};
}

// x + y less sum, which is x + y rounded [Knuth 1998, section 4.2.2, theorem B].
template <class Real>
inline vec<Real> rounding_of_sum(vec<Real> x, vec<Real> y, vec<Real> sum) {
  const vec<Real> added = sum - x;
  return (x - (sum - added)) + (y - added);
}

template <class Real>
inline vec<Real> magnitude(vec<Real> x) {
  return x < Real(0) ? -x : x;
}

// 1 / x for 1 <= x <= 2, to a unit in the last place.
template <class Real>
inline vec<Real> reciprocal(vec<Real> x) {
  return Real(1) / x;
}

inline bits_of<float> extended(half_bits x) { return __builtin_convertvector(x, bits_of<float>); }
inline half_bits lower_halves(bits_of<float> x) { return __builtin_convertvector(x, half_bits); }
