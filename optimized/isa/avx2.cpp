// 32-byte registers of x86-64 with AVX2 and FMA (Intel since 2013, AMD since 2015).
#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "optimized/kernel_table.hpp"

namespace assay::optimized::avx2 {
namespace {
constexpr int vector_bytes = 32;
// clang-format off
#include "optimized/kernels/vector.ipp"
#include "optimized/kernels/conversion.ipp"
#include "optimized/isa/half.ipp"
#include "optimized/isa/fma.ipp"
#include "optimized/isa/lanes.ipp"
#include "optimized/kernels/table.ipp"
// clang-format on
}  // namespace

extern constinit const kernel_table table = make_table();

}  // namespace assay::optimized::avx2
