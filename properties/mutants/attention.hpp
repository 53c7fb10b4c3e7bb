// Wrong, and right but different, implementations of attention.
#pragma once

#include "properties/encodings.hpp"

namespace assay::properties {

std::vector<variant> attention_mutants();
std::vector<variant> attention_controls();

}  // namespace assay::properties
