// Products and sums with two roundings, and parts of registers. They are for instruction sets that have neither fused
// nor masked operations.

template <class Real>
inline vec<Real> fused(vec<Real> x, vec<Real> y, vec<Real> z) {
  return x * y + z;
}

// The table of 2^(-j / steps) has only the entry 1.
template <class Real>
inline constexpr int steps_per_octave = 1;

template <class Real>
inline bits_of<Real> power_bits(bits_of<Real>, bits_of<Real> raised) {
  return __builtin_bit_cast(bits_of<Real>, broadcast(Real(1))) + raised;
}

// Stores around the caches where the processor can. Precondition: the address is a multiple of vector_bytes.
template <class Real>
inline void store_past_caches(Real* to, vec<Real> x) {
#ifdef __SSE2__
  if constexpr (sizeof(Real) == sizeof(float))
    _mm_stream_ps(to, x);
  else
    _mm_stream_pd(to, x);
#else
  __builtin_memcpy(to, &x, sizeof x);
#endif
}

inline void end_stores_past_caches() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

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
