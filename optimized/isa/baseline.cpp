// 16-byte registers, which every processor of the architecture has.
#include <cstdint>
#include <utility>

#include "optimized/kernel_table.hpp"

namespace assay::optimized::baseline {
namespace {
constexpr int vector_bytes = 16;
#include "optimized/kernels/table.ipp"
}  // namespace

extern constinit const kernel_table table = {make_kernels<float>(), make_kernels<double>(), make_rotation_kernels()};

}  // namespace assay::optimized::baseline
