// Fused operations, parts of registers and a table of powers of two, on the 16-byte registers of Arm's Advanced SIMD.

template <class Real>
inline vec<Real> fused(vec<Real> x, vec<Real> y, vec<Real> z) {
  if constexpr (sizeof(Real) == sizeof(float))
    return (vec<Real>)vfmaq_f32((float32x4_t)z, (float32x4_t)x, (float32x4_t)y);
  else
    return (vec<Real>)vfmaq_f64((float64x2_t)z, (float64x2_t)x, (float64x2_t)y);
}

template <class Real>
inline constexpr int steps_per_octave = sizeof(Real) == sizeof(float) ? 8 : 1;

// This works as in isa/fma.ipp. A table of eight numbers is two registers of bytes, and each lane asks for four bytes
// in a row.
template <class Real>
inline bits_of<Real> power_bits(bits_of<Real> n, bits_of<Real> raised) {
  if constexpr (sizeof(Real) == sizeof(float)) {
    constexpr bits_of<float> first = {0x3f800000, 0x3f7ac0c7, 0x3f7744fd, 0x3f75672a};
    constexpr bits_of<float> second = {0x3f7504f3, 0x3f75fed7, 0x3f7837f0, 0x3f7b95c2};
    const uint8x16x2_t table = {{(uint8x16_t)first, (uint8x16_t)second}};
    const bits_of<float> bytes = (n & 7) * 0x04040404u + 0x03020100u;
    return (bits_of<float>)vqtbl2q_u8(table, (uint8x16_t)bytes) + raised;
  } else {
    return __builtin_bit_cast(bits_of<double>, broadcast(1.0)) + raised;
  }
}

// No instruction is certain to leave the caches alone.
template <class Real>
inline void store_past_caches(Real* to, vec<Real> x) {
  __builtin_memcpy(to, &x, sizeof x);
}
inline void end_stores_past_caches() {}

template <class Real>
inline vec<Real> load_part(const Real* from, std::size_t count) {
  vec<Real> x{};
  for (std::size_t k = 0; k < count; ++k) x[k] = from[k];
  return x;
}
template <class Real>
inline void store_part(Real* to, vec<Real> x, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) to[k] = x[k];
}

// Numbers of binary16 use instructions of the processor.
template <>
struct conversion<float16> {
  static constexpr std::size_t together = 4;
  static void widen(const float16* x, float* y) {
    vst1q_f32(y, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const std::uint16_t*>(x)))));
  }
  static void round(const float* x, float16* y) {
    vst1_u16(reinterpret_cast<std::uint16_t*>(y), vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x))));
  }
};
