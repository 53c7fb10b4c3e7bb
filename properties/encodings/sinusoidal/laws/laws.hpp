// The laws of sinusoidal encodings, which need no truth.
#pragma once

#include "properties/harness/property.hpp"

namespace assay::properties::encodings::sinusoidal {

std::vector<property> laws();
/// Those of columns, and those of frequencies, gradients and decay, which sinusoidal_laws() has too.
std::vector<property> column_laws();
std::vector<property> function_laws();

/// The families of operations with integer positions, and of those with positions of either kind.
const std::vector<std::string>& families_of_integers();
std::vector<std::string> families_of_positions();

}  // namespace assay::properties::encodings::sinusoidal
