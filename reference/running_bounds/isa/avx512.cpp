// 64-byte registers of x86-64 with AVX-512 (F, DQ, VL).
#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "reference/running_bounds/bounded_field.hpp"

namespace assay::reference::running::avx512 {
namespace {
constexpr int vector_bytes = 64;
#define ASSAY_FUSED _mm512_fmadd_pd
// The mask keeps all lanes: GCC 12 warns about the argument that _mm512_max_pd leaves out (bug 105593).
#define ASSAY_LARGER(x, y) _mm512_maskz_max_pd(0xff, x, y)
// Masks have registers of their own: a bit for each lane.
#define ASSAY_MASKS
typedef __mmask8 register_of_masks;
inline __m512d select(register_of_masks m, __m512d x, __m512d y) { return _mm512_mask_blend_pd(m, y, x); }
inline __m512d where(register_of_masks m, __m512d x) { return _mm512_maskz_mov_pd(m, x); }
inline register_of_masks no_lanes_of_register() { return 0; }
inline bool are_all_set(register_of_masks m) { return m == 0xff; }
inline register_of_masks is_less(__m512d x, __m512d y) { return _mm512_cmp_pd_mask(x, y, _CMP_LT_OQ); }
inline register_of_masks is_not_less(__m512d x, __m512d y) { return _mm512_cmp_pd_mask(x, y, _CMP_GE_OQ); }
inline register_of_masks is_equal(__m512d x, __m512d y) { return _mm512_cmp_pd_mask(x, y, _CMP_EQ_OQ); }
inline register_of_masks has_minus(__m512d x) { return _mm512_movepi64_mask(_mm512_castpd_si512(x)); }
#include "reference/running_bounds/kernels/table.ipp"
}  // namespace

extern constinit const kernel_table table = make_table("avx512");

}  // namespace assay::reference::running::avx512
