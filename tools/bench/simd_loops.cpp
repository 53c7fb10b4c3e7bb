#include "tools/bench/simd_loops.hpp"

namespace assay::bench {

#ifdef ASSAY_SIMD_LOOPS
namespace avx2 {
extern const std::vector<simd_loop> loops;
}
namespace avx512 {
extern const std::vector<simd_loop> loops;
}

std::vector<simd_loop> simd_loops() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd"))
    return avx512::loops;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::loops;
  return {};
}
#else
std::vector<simd_loop> simd_loops() { return {}; }
#endif

}  // namespace assay::bench
