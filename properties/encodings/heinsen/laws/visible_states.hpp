// The states of Heinsen's operations, as the outputs of any of these operations show them.
#pragma once

#include "properties/laws/relations/relations.hpp"

namespace assay::properties::encodings::heinsen {

/// The scope of heinsen/scan, heinsen/gated_scan and heinsen/embed_position, and of their directional derivatives.
law_scope what_shows_states();

/// The inputs with W_R = identity (cut to [e, d]) and b_R = 0 if the operation has them: then y - x is s.
core::tensors with_visible_states(const core::tensors& inputs);

/// s, or y - x of the first min(e, d) features: [batch, tokens, features], row-major. Each has the error that the
/// widest law allows, including the storage of the output.
struct visible_states {
  std::size_t batch = 0, tokens = 0, features = 0;
  std::vector<approximate> value;
  /// s_0, [batch, features]
  std::vector<double> initial;
  [[nodiscard]] approximate at(std::size_t row, std::size_t token, std::size_t feature) const {
    return value[(row * tokens + token) * features + feature];
  }
};

/// Runs the case, whose inputs went through with_visible_states; ends the law if the candidate declares a narrower
/// domain.
visible_states observe(experiment& e, const test_case& c);

}  // namespace assay::properties::encodings::heinsen
