// Operations of the other encodings, beside the time in which memory gives what they read and takes what they write, or
// beside the products of matrices that they consist of.
#pragma once

#include "tools/bench/measure.hpp"

namespace assay::bench {

std::vector<measurement> measure_encodings(const options& how, const heads_shape& shape);

}  // namespace assay::bench
