// embed_position and its adjoint, compared with the matrix products that they contain.
#pragma once

#include "tools/bench/measure.hpp"

namespace assay::bench {

/// The floor is the time of the bare products: each matrix is whole, and its rows are divided among the threads.
std::vector<measurement> measure_embedding(const options& settings, const embedding_shape& shape);

}  // namespace assay::bench
