// 64-byte registers of x86-64 with AVX-512 (F, DQ, VL).
#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "reference/running_bounds/bounded_field.hpp"

namespace assay::reference::running::avx512 {
namespace {
constexpr int vector_bytes = 64;
#define ASSAY_FUSED _mm512_fmadd_pd
#include "reference/running_bounds/kernels/table.ipp"
}  // namespace

extern constinit const kernel_table table = make_table("avx512");

}  // namespace assay::reference::running::avx512
