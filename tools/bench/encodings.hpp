// Operations of the other encodings, compared with the time that memory needs to read and write the same data, or with
// the matrix products that they contain.
#pragma once

#include "tools/bench/measure.hpp"

namespace assay::bench {

std::vector<measurement> measure_encodings(const options& settings, const heads_shape& shape);

}  // namespace assay::bench
