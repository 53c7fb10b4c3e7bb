// 16-byte registers of 64-bit Arm with Advanced SIMD. Every 64-bit Arm processor has them.
#include <arm_neon.h>

#include <cstdint>
#include <utility>

#include "optimized/kernel_table.hpp"

namespace assay::optimized::neon {
namespace {
constexpr int vector_bytes = 16;
// clang-format off
#include "optimized/kernels/vector.ipp"
#include "optimized/kernels/conversion.ipp"
#include "optimized/isa/neon.ipp"
#include "optimized/isa/lanes.ipp"
#include "optimized/kernels/table.ipp"
// clang-format on
}  // namespace

extern constinit const kernel_table table = make_table();

}  // namespace assay::optimized::neon
