// 16-byte registers, which every processor of the architecture has.
#include <cstdint>
#include <utility>

#include "reference/running_bounds/bounded_field.hpp"

namespace assay::reference::running::baseline {
namespace {
constexpr int vector_bytes = 16;
#include "reference/running_bounds/kernels/table.ipp"
}  // namespace

extern constinit const kernel_table table = make_table("baseline");

}  // namespace assay::reference::running::baseline
