// Labels of logarithmic axes.
#pragma once

#include <string>

namespace assay::tools {

/// "0.01", "1000"; outside this range with superscript digits: "10⁻³", "10⁴".
std::string power_of_ten(int exponent);

}  // namespace assay::tools
