// What is wrong in a setting of the implementation's own alone, such as a block size or the strides of its inputs.
#pragma once

#include <string>
#include <vector>

#include "properties/diagnosis/probes.hpp"

namespace assay::properties {

/// Takes the probes out that are wrong in a setting which the operation does not declare, and right without it. Says of
/// each such setting what is wrong with it, and with which of its values fresh cases are wrong and right.
std::vector<std::string> take_wrong_in_own_settings(std::vector<probe>& probes, implementation& under_test,
                                                    std::uint64_t seed);

}  // namespace assay::properties
