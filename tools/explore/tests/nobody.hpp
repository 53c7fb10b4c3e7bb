// A caller for cells that need no candidate.
#pragma once

#include <string>

#include "tools/explore/measure.hpp"

namespace assay::explore {

inline const caller nobody = [](const std::string&, const core::request&) -> core::result<core::tensors> {
  return core::failure("there are no candidates here");
};

}  // namespace assay::explore
