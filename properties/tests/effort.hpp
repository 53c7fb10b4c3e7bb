// One scale variable multiplies the effort of all property tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace assay::properties {

/// Environment variable ASSAY_TEST_SCALE, 1 by default.
inline std::size_t effort() {
  const char* scale = std::getenv("ASSAY_TEST_SCALE");
  return scale ? std::max(1ul, std::strtoul(scale, nullptr, 10)) : 1;
}

inline std::size_t scaled(std::size_t cases) { return cases * effort(); }

}  // namespace assay::properties
