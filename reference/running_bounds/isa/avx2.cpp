// 32-byte registers of x86-64 with AVX2 and FMA (Intel since 2013, AMD since 2015).
#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "reference/running_bounds/bounded_field.hpp"

namespace assay::reference::running::avx2 {
namespace {
constexpr int vector_bytes = 32;
#define ASSAY_FUSED _mm256_fmadd_pd
#define ASSAY_LARGER _mm256_max_pd
#include "reference/running_bounds/kernels/table.ipp"
}  // namespace

extern constinit const kernel_table table = make_table("avx2");

}  // namespace assay::reference::running::avx2
