#include "reference/instantiate/compiled_once.hpp"

namespace assay::reference {
ASSAY_ALL_COMPILED_ONCE()
}  // namespace assay::reference
