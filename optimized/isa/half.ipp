// Numbers of binary16 by the instructions of F16C, which every processor with AVX2 has.
template <>
struct conversion<float16> {
  static constexpr std::size_t together = 8;
  static void widen(const float16* x, float* y) {
    _mm256_storeu_ps(y, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
  }
  static void round(const float* x, float16* y) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y),
                     _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
};
