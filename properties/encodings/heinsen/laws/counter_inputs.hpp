// The open-loop counter of reference/algorithms/separability.hpp as inputs of Heinsen's operations.
#pragma once

#include <vector>

#include "reference/algorithms/separability.hpp"
#include "reference/core/operation.hpp"

namespace assay::properties::encodings::heinsen {

/// 2^bits numbers in each row; row r counts from first[r]: feature j at token i + 1 has the sign of digit j of first[r]
/// + i.
struct counter_inputs {
  std::size_t bits = 0;
  std::vector<std::size_t> first;
  core::tensors tensors;        ///< s_0 = 0
  reference::sign_bands bands;  ///< of the controls as the dtype holds them
  [[nodiscard]] double sign(std::size_t row, std::size_t i, std::size_t j) const {
    return reference::counter_sign(first[row] + i, j);
  }
};

/// heinsen/embed_position makes its controls from x, whose coordinates are the signs: W_p = 0 and
/// h = (h+ - h-) / 2 x + (h+ + h-) / 2; y - x shows the states. Precondition: shows_states(op).
counter_inputs make_counter(const core::operation& op, core::dtype type, const reference::two_level_controls& controls,
                            std::size_t bits, std::vector<std::size_t> first);

}  // namespace assay::properties::encodings::heinsen
