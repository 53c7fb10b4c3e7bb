// Divides the tokens of embed_position into blocks.
#pragma once

#include <algorithm>
#include <cstddef>

#include "optimized/encodings/heinsen/blocks.hpp"

namespace assay::optimized::heinsen::embedding {

/// x is [batch, tokens, embedding]; the states are [batch, tokens, features].
struct embed_sizes {
  std::size_t batch, tokens, embedding, features;
  [[nodiscard]] std::size_t rows() const { return batch * tokens; }
};

/// The blocks of a call. They depend only on the sizes: a block has up to 512 tokens, or more if the features are few.
/// (OpenBLAS copies the weights for every block, so blocks must not be small. Larger blocks would be too few for many
/// threads.)
inline blocks blocks_of(const embed_sizes& size) {
  constexpr std::size_t least = 512, largest = 8192, elements = 1 << 18;
  return {size.batch, size.tokens, std::clamp(elements / (size.embedding + 3 * size.features + 1), least, largest)};
}

}  // namespace assay::optimized::heinsen::embedding
