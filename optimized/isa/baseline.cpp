// 16-byte registers. Every processor of the architecture has them.
#ifdef __SSE2__
#include <immintrin.h>
#endif
#include <cstdint>
#include <utility>

#include "optimized/kernel_table.hpp"

namespace assay::optimized::baseline {
namespace {
constexpr int vector_bytes = 16;
// clang-format off
#include "optimized/kernels/vector.ipp"
#include "optimized/kernels/conversion.ipp"
#include "optimized/isa/unfused.ipp"
#include "optimized/isa/lanes.ipp"
#include "optimized/kernels/table.ipp"
// clang-format on
}  // namespace

extern constinit const kernel_table table = make_table();

}  // namespace assay::optimized::baseline
