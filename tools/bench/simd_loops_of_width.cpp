// The loops for one register width: compiled for AVX2 and for AVX-512, in the namespace ASSAY_LOOPS.
#include <immintrin.h>
#ifdef ASSAY_SLEEF
#include <sleef.h>
#endif
#ifdef ASSAY_XSIMD
#include <xsimd/xsimd.hpp>
#endif

#include "tools/bench/simd_loops.hpp"

namespace assay::bench::ASSAY_LOOPS {
namespace {

#ifdef __AVX512F__
using registers = __m512;
#else
using registers = __m256;
#endif

template <class Math>
void scan(const float* log_p, const float* h, float* s, std::size_t tokens, std::size_t features) {
  constexpr std::size_t lanes = sizeof(registers) / sizeof(float);
  const auto load = [](const float* from) {
    registers x;
    __builtin_memcpy(&x, from, sizeof x);
    return x;
  };
  for (std::size_t i = 0; i < tokens; ++i)
    for (std::size_t j = 0; j < features; j += lanes) {
      const std::size_t index = i * features + j;
      const registers past = load(log_p + index) + (i == 0 ? registers{} : load(s + index - features)),
                      x = load(h + index);
      const registers distance = past > x ? past - x : x - past;
      const registers state = (past > x ? past : x) + Math::log1p(Math::exp(-distance));
      __builtin_memcpy(s + index, &state, sizeof state);
    }
}

#ifdef ASSAY_SLEEF
struct sleef {
#ifdef __AVX512F__
  static registers exp(registers x) { return Sleef_expf16_u10avx512f(x); }
  static registers log1p(registers x) { return Sleef_log1pf16_u10avx512f(x); }
#else
  static registers exp(registers x) { return Sleef_expf8_u10avx2(x); }
  static registers log1p(registers x) { return Sleef_log1pf8_u10avx2(x); }
#endif
};
#endif

#ifdef ASSAY_XSIMD
struct with_xsimd {
  using batch = xsimd::batch<float>;
  static_assert(sizeof(batch) == sizeof(registers));
  static registers exp(registers x) { return xsimd::exp(batch(x)); }
  static registers log1p(registers x) { return xsimd::log1p(batch(x)); }
};
#endif

}  // namespace

extern const std::vector<simd_loop> loops;
const std::vector<simd_loop> loops{
#ifdef ASSAY_SLEEF
    {"loop with SLEEF", scan<sleef>},
#endif
#ifdef ASSAY_XSIMD
    {"loop with xsimd", scan<with_xsimd>},
#endif
};

}  // namespace assay::bench::ASSAY_LOOPS
