// The states of Heinsen's operations as an implementation shows them, whatever the operation.
#pragma once

#include "properties/laws/laws.hpp"

namespace assay::properties::encodings::heinsen {

/// True for heinsen/scan, heinsen/gated_scan and heinsen/embed_position.
bool shows_states(const core::operation& op);

/// The inputs with W_R = identity (cut to [e, d]) and b_R = 0 where the operation has them: y - x is then s.
core::tensors with_visible_states(const core::tensors& inputs);

/// s, or y - x of the first min(e, d) features: [batch, tokens, features], row-major.
struct visible_states {
  std::size_t batch = 0, tokens = 0, features = 0;
  std::vector<double> value;
  /// By how much the widest law allows each value to be off, the storage of the output included.
  std::vector<double> allowed;
  /// s_0, [batch, features]
  std::vector<double> initial;
  [[nodiscard]] std::size_t at(std::size_t row, std::size_t token, std::size_t feature) const {
    return (row * tokens + token) * features + feature;
  }
};

/// Runs the case, whose inputs went through with_visible_states; an outcome where there is nothing to see.
tl::expected<visible_states, outcome> observe(implementation& under_test, const test_case& c);

}  // namespace assay::properties::encodings::heinsen
