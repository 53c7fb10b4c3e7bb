#include "reference/running_bounds/dispatch.hpp"

namespace assay::reference::running {

#define ASSAY_ISA(name, supported) \
  namespace name {                 \
  extern const kernel_table table; \
  }
#include "assay_bounds.inc"
#undef ASSAY_ISA

const std::vector<const kernel_table*>& supported_kernels() {
  static const std::vector<const kernel_table*> all = [] {
    std::vector<const kernel_table*> found;
#define ASSAY_ISA(name, supported) \
  if (supported) found.push_back(&name::table);
#include "assay_bounds.inc"
#undef ASSAY_ISA
    return found;
  }();
  return all;
}

const kernel_table& kernels() { return *supported_kernels().back(); }

}  // namespace assay::reference::running
