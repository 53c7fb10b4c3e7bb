// How the operators of a program hand cotangents back to what they take: one rule an operator, as nodes.
#pragma once

#include <optional>

#include "reference/formula/program_writer.hpp"

namespace assay::reference::formula {

/// A node y whose cotangent g is complete, and where the rule writes.
struct pullback {
  program_writer& to;
  const node& n;
  node_id y, g;

  [[nodiscard]] node_id in(std::size_t k) const { return n.in[k]; }
  [[nodiscard]] core::shape shape_of(node_id k) const { return to.shape_of(k); }
};

/// One for each input, of its shape; none is a structural zero.
using cotangents = std::vector<std::optional<node_id>>;

/// Elementwise operators.
cotangents of_function(const pullback& b);
/// Operators that move elements, and their transposes.
cotangents of_movement(const pullback& b);
/// Reductions, and operators along an axis.
cotangents of_sums(const pullback& b);

}  // namespace assay::reference::formula
