// embed_position and its adjoint beside the products of matrices that they consist of.
#pragma once

#include "tools/bench/measure.hpp"

namespace assay::bench {

/// The floor is the time of the bare products, each matrix whole, its rows divided among the threads.
std::vector<measurement> measure_embedding(const options& how, const embedding_shape& shape);

}  // namespace assay::bench
