// 16-bit numbers in the registers of AVX2 and AVX-512. Numbers of binary16 use the instructions of F16C, which every
// processor with AVX2 has.
template <>
inline vec<float> load_widened(const float16* from) {
#ifdef __AVX512F__
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#else
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#endif
}
template <>
inline void store_rounded(float16* to, vec<float> x) {
  constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
#ifdef __AVX512F__
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(x, nearest));
#else
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(x, nearest));
#endif
}

// Converts arrays, one register at a time.
template <class Storage>
struct conversion_by_registers {
  static constexpr std::size_t together = lane_count<float>;
  static void widen(const Storage* x, float* y) {
    const vec<float> wide = load_widened(x);
    __builtin_memcpy(y, &wide, sizeof wide);
  }
  static void round(const float* x, Storage* y) {
    vec<float> wide;
    __builtin_memcpy(&wide, x, sizeof wide);
    store_rounded(y, wide);
  }
};
template <>
struct conversion<bfloat16> : conversion_by_registers<bfloat16> {};
template <>
struct conversion<float16> : conversion_by_registers<float16> {};
