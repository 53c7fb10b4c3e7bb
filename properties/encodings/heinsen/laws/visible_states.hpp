// The states of Heinsen's operations as an implementation shows them, whatever the operation.
#pragma once

#include "properties/laws/relations/relations.hpp"

namespace assay::properties::encodings::heinsen {

/// Of heinsen/scan, heinsen/gated_scan and heinsen/embed_position, and of their directional derivatives.
law_scope what_shows_states();

/// The inputs with W_R = identity (cut to [e, d]) and b_R = 0 where the operation has them: y - x is then s.
core::tensors with_visible_states(const core::tensors& inputs);

/// s, or y - x of the first min(e, d) features: [batch, tokens, features], row-major. Each may be off by what the
/// widest law allows, the storage of the output included.
struct visible_states {
  std::size_t batch = 0, tokens = 0, features = 0;
  std::vector<approximate> value;
  /// s_0, [batch, features]
  std::vector<double> initial;
  [[nodiscard]] approximate at(std::size_t row, std::size_t token, std::size_t feature) const {
    return value[(row * tokens + token) * features + feature];
  }
};

/// Runs the case, whose inputs went through with_visible_states; ends where the candidate declares a narrower domain.
visible_states observe(experiment& e, const test_case& c);

}  // namespace assay::properties::encodings::heinsen
