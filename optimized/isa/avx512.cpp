// 64-byte registers of x86-64 with AVX-512 F and DQ (Intel servers since 2017, AMD since 2022).
#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "optimized/kernel_table.hpp"

namespace assay::optimized::avx512 {
namespace {
constexpr int vector_bytes = 64;
// clang-format off
#include "optimized/kernels/vector.ipp"
#include "optimized/kernels/conversion.ipp"
#include "optimized/isa/half.ipp"
#include "optimized/isa/avx512.ipp"
#include "optimized/kernels/table.ipp"
// clang-format on
}  // namespace

extern constinit const kernel_table table = make_table();

}  // namespace assay::optimized::avx512
