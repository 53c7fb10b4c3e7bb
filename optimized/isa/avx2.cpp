// 32-byte registers of x86-64 with AVX2 (Intel since 2013, AMD since 2015).
#include <cstdint>
#include <utility>

#include "optimized/kernel_table.hpp"

namespace assay::optimized::avx2 {
namespace {
constexpr int vector_bytes = 32;
#include "optimized/kernels/table.ipp"
}  // namespace

extern constinit const kernel_table table = {make_kernels<float>(), make_kernels<double>(), make_rotation_kernels()};

}  // namespace assay::optimized::avx2
