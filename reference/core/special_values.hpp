// The infinity of doubles.
#pragma once

#include <limits>

namespace assay::core {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace assay::core
