// Faults that appear only with a setting of the implementation's own, such as a block size or the strides of its
// inputs.
#pragma once

#include <string>
#include <vector>

#include "properties/diagnosis/probes.hpp"

namespace assay::properties {

/// Takes out the probes that are wrong with a setting which the operation does not declare, and right without it. For
/// each such setting, says what is wrong with it, and with which of its values fresh cases are wrong and right.
std::vector<std::string> take_wrong_in_own_settings(std::vector<probe>& probes, implementation& under_test,
                                                    std::uint64_t seed);

}  // namespace assay::properties
