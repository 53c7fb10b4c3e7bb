// Fused operations, parts of registers and a table of powers of two, on the 32-byte registers of AVX2 with FMA.

template <class Real>
inline vec<Real> fused(vec<Real> x, vec<Real> y, vec<Real> z) {
  if constexpr (sizeof(Real) == sizeof(float))
    return _mm256_fmadd_ps(x, y, z);
  else
    return _mm256_fmadd_pd(x, y, z);
}

template <class Real>
inline constexpr int steps_per_octave = sizeof(Real) == sizeof(float) ? 8 : 1;

// In f32, the low bits j of n select a table entry: the bits of the rounded 2^(-j/8), plus j units of 1/8 in the
// exponent. In f64, the entry is always the bits of 1. `raised` is added to the entry.
template <class Real>
inline bits_of<Real> power_bits(bits_of<Real> n, bits_of<Real> raised) {
  if constexpr (sizeof(Real) == sizeof(float)) {
    constexpr bits_of<float> table = {0x3f800000, 0x3f7ac0c7, 0x3f7744fd, 0x3f75672a,
                                      0x3f7504f3, 0x3f75fed7, 0x3f7837f0, 0x3f7b95c2};
    return (bits_of<float>)_mm256_permutevar8x32_epi32((__m256i)(table + raised), (__m256i)n);
  } else {
    return __builtin_bit_cast(bits_of<double>, broadcast(1.0)) + raised;
  }
}

template <class Real>
inline void store_past_caches(Real* to, vec<Real> x) {
  if constexpr (sizeof(Real) == sizeof(float))
    _mm256_stream_ps(to, x);
  else
    _mm256_stream_pd(to, x);
}

inline void end_stores_past_caches() { _mm_sfence(); }

// Returns a mask with all bits set in the first `count` lanes.
template <class Real>
inline __m256i first_lanes(std::size_t count) {
  if constexpr (sizeof(Real) == sizeof(float))
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  else
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(static_cast<long long>(count)), _mm256_setr_epi64x(0, 1, 2, 3));
}

template <class Real>
inline vec<Real> load_part(const Real* from, std::size_t count) {
  if constexpr (sizeof(Real) == sizeof(float))
    return _mm256_maskload_ps(from, first_lanes<Real>(count));
  else
    return _mm256_maskload_pd(from, first_lanes<Real>(count));
}
template <class Real>
inline void store_part(Real* to, vec<Real> x, std::size_t count) {
  if constexpr (sizeof(Real) == sizeof(float))
    _mm256_maskstore_ps(to, first_lanes<Real>(count), x);
  else
    _mm256_maskstore_pd(to, first_lanes<Real>(count), x);
}
