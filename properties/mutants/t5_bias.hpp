// Wrong and right variants of T5's relative bias, to gate the gate.
#pragma once

#include "properties/encodings.hpp"

namespace assay::properties {

std::vector<variant> t5_bias_mutants();
/// Those of the bucket map, which are among them.
std::vector<variant> t5_bucket_mutants();
std::vector<variant> t5_bias_controls();

}  // namespace assay::properties
