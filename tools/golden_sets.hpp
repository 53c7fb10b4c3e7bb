// The golden sets of the source tree from which the program was built.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace assay::tools {

struct golden_set {
  std::string_view encoding;
  std::size_t files, elements;
};
/// The golden sets, in the order of golden/sets/index.json.
const std::vector<golden_set>& golden_sets();

}  // namespace assay::tools
