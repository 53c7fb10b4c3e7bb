#include <cstdint>
#include <utility>

#include "reference/running_bounds/bounded_field.hpp"

namespace assay::reference::running::baseline {
namespace {
constexpr int vector_bytes = 16;
#include "reference/running_bounds/kernels/vector.ipp"
//
#include "reference/running_bounds/kernels/lanes.ipp"
//
#include "reference/running_bounds/kernels/rounding.ipp"
#include "reference/running_bounds/kernels/softplus.ipp"
//
#include "reference/running_bounds/kernels/scan.ipp"
}  // namespace

extern constinit const kernel_table table = {"baseline", scan<in_doubles>};

}  // namespace assay::reference::running::baseline
