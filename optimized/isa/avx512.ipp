// The operations of isa/lanes.ipp, and those of isa/unfused.ipp with fused rounding, on the 64-byte registers of
// AVX-512 (F, DQ).

template <class Real>
struct format_mask;
template <>
struct format_mask<float> {
  typedef __mmask16 type;
};
template <>
struct format_mask<double> {
  typedef __mmask8 type;
};
template <class Real>
using mask = typename format_mask<Real>::type;

template <class Real>
inline constexpr int steps_per_octave = 16;

template <class Real>
inline constexpr bool is_single = sizeof(Real) == sizeof(float);

template <class Real>
inline mask<Real> less(vec<Real> x, vec<Real> y) {
  if constexpr (is_single<Real>)
    return _mm512_cmp_ps_mask(x, y, _CMP_LT_OQ);
  else
    return _mm512_cmp_pd_mask(x, y, _CMP_LT_OQ);
}

template <class Real>
inline mask<Real> equal(vec<Real> x, vec<Real> y) {
  if constexpr (is_single<Real>)
    return _mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ);
  else
    return _mm512_cmp_pd_mask(x, y, _CMP_EQ_OQ);
}

template <class Real>
inline mask<Real> differ(vec<Real> x, vec<Real> y) {
  if constexpr (is_single<Real>)
    return _mm512_cmp_ps_mask(x, y, _CMP_NEQ_UQ);
  else
    return _mm512_cmp_pd_mask(x, y, _CMP_NEQ_UQ);
}

template <class Real>
inline mask<Real> not_at_least(vec<Real> x, vec<Real> y) {
  if constexpr (is_single<Real>)
    return _mm512_cmp_ps_mask(x, y, _CMP_NGE_UQ);
  else
    return _mm512_cmp_pd_mask(x, y, _CMP_NGE_UQ);
}

template <class Real>
inline mask<Real> unordered(vec<Real> x, vec<Real> y) {
  if constexpr (is_single<Real>)
    return _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q);
  else
    return _mm512_cmp_pd_mask(x, y, _CMP_UNORD_Q);
}

template <class Real>
inline mask<Real> not_at_most_nor_infinite(vec<Real> x, vec<Real> y) {
  const vec<Real> infinite = broadcast(infinity<Real>);
  if constexpr (is_single<Real>)
    return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(x, y, _CMP_NLE_UQ), x, infinite, _CMP_NEQ_UQ);
  else
    return _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(x, y, _CMP_NLE_UQ), x, infinite, _CMP_NEQ_UQ);
}

inline mask<double> has_sign(vec<double> x) { return _mm512_movepi64_mask((__m512i)x); }

template <class Real>
inline vec<Real> where(mask<Real> k, vec<Real> x, vec<Real> y) {
  if constexpr (is_single<Real>)
    return _mm512_mask_blend_ps(k, y, x);
  else
    return _mm512_mask_blend_pd(k, y, x);
}

template <class Real>
inline vec<Real> magnitude(vec<Real> x) {
  if constexpr (is_single<Real>)
    return _mm512_abs_ps(x);
  else
    return _mm512_abs_pd(x);
}

template <class Real>
inline vec<Real> minus_where(mask<Real> k, vec<Real> x) {
  if constexpr (is_single<Real>)
    return _mm512_mask_xor_ps(x, k, x, -vec<Real>{});
  else
    return _mm512_mask_xor_pd(x, k, x, -vec<Real>{});
}

template <class Real>
inline vec<Real> finite_or_zero(mask<Real> k, vec<Real> x) {
  if constexpr (is_single<Real>)
    return _mm512_maskz_mov_ps(_mm512_mask_cmp_ps_mask(k, magnitude<Real>(x), broadcast(infinity<Real>), _CMP_LT_OQ),
                               x);
  else
    return _mm512_maskz_mov_pd(_mm512_mask_cmp_pd_mask(k, magnitude<Real>(x), broadcast(infinity<Real>), _CMP_LT_OQ),
                               x);
}

template <class Real>
inline vec<Real> add_where(mask<Real> k, vec<Real> x, vec<Real> y) {
  if constexpr (is_single<Real>)
    return _mm512_mask_add_ps(x, k, x, y);
  else
    return _mm512_mask_add_pd(x, k, x, y);
}

template <class Real>
inline vec<Real> add_or_subtract(mask<Real> k, vec<Real> x, vec<Real> y) {
  if constexpr (is_single<Real>)
    return _mm512_mask_add_ps(x - y, k, x, y);
  else
    return _mm512_mask_add_pd(x - y, k, x, y);
}

template <class Real>
inline vec<Real> larger(vec<Real> x, vec<Real> y) {
  if constexpr (is_single<Real>)
    return _mm512_max_ps(x, y);
  else
    return _mm512_max_pd(x, y);
}

template <class Real>
inline vec<Real> smaller(vec<Real> x, vec<Real> y) {
  if constexpr (is_single<Real>)
    return _mm512_min_ps(x, y);
  else
    return _mm512_min_pd(x, y);
}

// The instructions tell which of x and y is larger in magnitude. Two subtractions are then enough [Dekker 1971].
template <class Real>
inline vec<Real> rounding_of_sum(vec<Real> x, vec<Real> y, vec<Real> sum) {
  constexpr int smaller_magnitude = 0b0110, larger_magnitude = 0b0111;
  if constexpr (is_single<Real>)
    return _mm512_range_ps(x, y, smaller_magnitude) - (sum - _mm512_range_ps(x, y, larger_magnitude));
  else
    return _mm512_range_pd(x, y, smaller_magnitude) - (sum - _mm512_range_pd(x, y, larger_magnitude));
}

template <class Real>
inline vec<Real> fused(vec<Real> x, vec<Real> y, vec<Real> z) {
  if constexpr (is_single<Real>)
    return _mm512_fmadd_ps(x, y, z);
  else
    return _mm512_fmadd_pd(x, y, z);
}

template <class Real>
inline vec<Real> fused_or_zero(mask<Real> k, vec<Real> x, vec<Real> y, vec<Real> z) {
  if constexpr (is_single<Real>)
    return _mm512_maskz_fmadd_ps(k, x, y, z);
  else
    return _mm512_maskz_fmadd_pd(k, x, y, z);
}

// The low bits j of n select a table entry: the bits of the rounded 2^(-j/16), plus j units of 1/16 in the exponent.
// `raised` is added to the entry. The result minus n such units is the bits of 2^(-n/16).
template <class Real>
inline bits_of<Real> power_bits(bits_of<Real> n, bits_of<Real> raised) {
  if constexpr (is_single<Real>) {
    constexpr bits_of<float> table = {0x3f800000, 0x3f7d257d, 0x3f7ac0c7, 0x3f78ccdf, 0x3f7744fd, 0x3f76248c,
                                      0x3f75672a, 0x3f7508a4, 0x3f7504f3, 0x3f75583f, 0x3f75fed7, 0x3f76f532,
                                      0x3f7837f0, 0x3f79c3d3, 0x3f7b95c2, 0x3f7daac3};
    return (bits_of<float>)_mm512_permutexvar_epi32((__m512i)n, (__m512i)(table + raised));
  } else {
    constexpr bits_of<double> first = {0x3ff0000000000000, 0x3fefa4afa2a490da, 0x3fef5818dcfba487, 0x3fef199bdd85529c,
                                       0x3feee89f995ad3ad, 0x3feec49182a3f090, 0x3feeace5422aa0db, 0x3feea11473eb0187};
    constexpr bits_of<double> second = {0x3feea09e667f3bcd, 0x3feeab07dd485429, 0x3feebfdad5362a27, 0x3feedea64c123422,
                                        0x3fef06fe0a31b715, 0x3fef387a6e756238, 0x3fef72b83c7d517b, 0x3fefb5586cf9890f};
    return (bits_of<double>)_mm512_permutex2var_epi64((__m512i)(first + raised), (__m512i)n,
                                                      (__m512i)(second + raised));
  }
}

template <class Real>
inline void store_past_caches(Real* to, vec<Real> x) {
  if constexpr (is_single<Real>)
    _mm512_stream_ps(to, x);
  else
    _mm512_stream_pd(to, x);
}

inline void end_stores_past_caches() { _mm_sfence(); }

template <class Real>
inline vec<Real> load_part(const Real* from, std::size_t count) {
  const auto first = static_cast<mask<Real>>((1u << count) - 1);
  if constexpr (is_single<Real>)
    return _mm512_maskz_loadu_ps(first, from);
  else
    return _mm512_maskz_loadu_pd(first, from);
}
template <class Real>
inline void store_part(Real* to, vec<Real> x, std::size_t count) {
  const auto first = static_cast<mask<Real>>((1u << count) - 1);
  if constexpr (is_single<Real>)
    _mm512_mask_storeu_ps(to, first, x);
  else
    _mm512_mask_storeu_pd(to, first, x);
}

// For f32, an estimate of 14 bits and one step of Newton's method give 1 / x.
template <class Real>
inline vec<Real> reciprocal(vec<Real> x) {
  if constexpr (is_single<Real>) {
    const vec<float> estimate = _mm512_rcp14_ps(x);
    return fused<float>(estimate, _mm512_fnmadd_ps(x, estimate, broadcast(1.0f)), estimate);
  } else {
    return 1.0 / x;
  }
}

// GCC 12 would write these vector conversions with registers of half the size.
inline bits_of<float> extended(half_bits x) { return (bits_of<float>)_mm512_cvtepu16_epi32((__m256i)x); }
inline half_bits lower_halves(bits_of<float> x) { return (half_bits)_mm512_cvtepi32_epi16((__m512i)x); }
