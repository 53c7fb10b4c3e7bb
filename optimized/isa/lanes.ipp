// Lane-wise comparisons and choices, with the vector extensions.
//
// This file is included inside the unnamed namespace of an instruction set, after kernels/vector.ipp. isa/avx512.ipp
// has the same operations with the mask registers of AVX-512.

// A mask of the lanes in which a comparison holds.
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

// True if x < y, or if x or y is NaN.
template <class Real>
inline mask<Real> not_at_least(vec<Real> x, vec<Real> y) {
  return ~(x >= y);
}

// True if x > y, or if x or y is NaN; but false if x = +inf.
template <class Real>
inline mask<Real> not_at_most_nor_infinite(vec<Real> x, vec<Real> y) {
  return ~(x <= y) & (x != infinity<Real>);
}

// True if x is negative or -0.
inline mask<double> has_sign(vec<double> x) { return __builtin_bit_cast(mask<double>, x) < 0; }

template <class Real>
inline vec<Real> where(mask<Real> k, vec<Real> x, vec<Real> y) {
  return k ? x : y;
}

// Returns -x in the lanes of k and x in the other lanes.
template <class Real>
inline vec<Real> minus_where(mask<Real> k, vec<Real> x) {
  return k ? -x : x;
}

// Returns x in the lanes of k where x is finite, and 0 in all other lanes.
template <class Real>
inline vec<Real> finite_or_zero(mask<Real> k, vec<Real> x) {
  return (k & (x - x == Real(0))) ? x : vec<Real>{};
}

// Returns x + y in the lanes of k and x in the other lanes.
template <class Real>
inline vec<Real> add_where(mask<Real> k, vec<Real> x, vec<Real> y) {
  return k ? x + y : x;
}

// Returns x + y in the lanes of k and x - y in the other lanes.
template <class Real>
inline vec<Real> add_or_subtract(mask<Real> k, vec<Real> x, vec<Real> y) {
  return k ? x + y : x - y;
}

// Returns y if x and y are unordered.
template <class Real>
inline vec<Real> larger(vec<Real> x, vec<Real> y) {
  return x > y ? x : y;
}
template <class Real>
inline vec<Real> smaller(vec<Real> x, vec<Real> y) {
  return x < y ? x : y;
}

// Returns x y + z in the lanes of k and 0 in the other lanes. `fused` belongs to the instruction set.
template <class Real>
inline vec<Real> fused_or_zero(mask<Real> k, vec<Real> x, vec<Real> y, vec<Real> z) {
  return k ? fused<Real>(x, y, z) : vec<Real>{};
}

// Returns (x + y) - sum, where `sum` is the rounded x + y [Knuth 1998, section 4.2.2, theorem B].
template <class Real>
inline vec<Real> rounding_of_sum(vec<Real> x, vec<Real> y, vec<Real> sum) {
  const vec<Real> added = sum - x;
  return (x - (sum - added)) + (y - added);
}

template <class Real>
inline vec<Real> magnitude(vec<Real> x) {
  return x < Real(0) ? -x : x;
}

// Returns 1 / x for 1 <= x <= 2. The error is at most one unit in the last place.
template <class Real>
inline vec<Real> reciprocal(vec<Real> x) {
  return Real(1) / x;
}

inline bits_of<float> extended(half_bits x) { return __builtin_convertvector(x, bits_of<float>); }
inline half_bits lower_halves(bits_of<float> x) { return __builtin_convertvector(x, half_bits); }
