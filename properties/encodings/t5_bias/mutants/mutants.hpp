// Wrong and right variants of T5's relative bias, to gate the gate.
#pragma once

#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::t5_bias {

std::vector<variant> mutants();
/// Those of the bucket map, which are among them.
std::vector<variant> t5_bucket_mutants();
std::vector<variant> controls();

}  // namespace assay::properties::encodings::t5_bias
