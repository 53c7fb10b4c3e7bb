// How the operators of a program hand cotangents back to what they take: one rule an operator, as nodes.
#pragma once

#include <optional>

#include "reference/formula/differentiate.hpp"
#include "reference/formula/program_writer.hpp"

namespace assay::reference::formula {

/// A node y whose cotangent g is complete, and where the rule writes.
struct pullback {
  program_writer& to;
  const node& n;
  node_id y, g;
  const std::vector<bool>& leads;  ///< whether a cotangent goes on from a node of the formula to an input
  const std::vector<std::optional<node_id>>& reached;  ///< by cotangents, the nodes of the formula so far
  const std::vector<std::vector<node_id>>& uses;  ///< of each node of the formula; an output is used by itself, too
  gradient_form how;

  [[nodiscard]] node_id in(std::size_t k) const { return n.in[k]; }
  [[nodiscard]] core::shape shape_of(node_id k) const { return to.shape_of(k); }

  /// The cotangent, and 0 where something is hidden from it. Of several masks one is made.
  [[nodiscard]] node_id hidden(node_id where_hidden) const {
    if (!is_masked(g)) return to.where(where_hidden, to.number(0.0), g);
    const node masked = to.node_of(g);
    return to.where(to.of(op::either_one, {where_hidden, masked.in[0]}), masked.in[1], masked.in[2]);
  }
  /// f of the cotangent, elementwise and linear. Where a branch of the formula is not taken the cotangent is 0, and 0
  /// times anything is 0 there: f is of the other branch alone.
  template <class F>
  [[nodiscard]] node_id linear(F f) const {
    if (!is_masked(g)) return f(g);
    const node masked = to.node_of(g);
    return to.where(masked.in[0], masked.in[1], f(masked.in[2]));
  }

 private:
  [[nodiscard]] bool is_masked(node_id k) const {
    const node& x = to.node_of(k);
    if (x.what != op::where) return false;
    const node& first = to.node_of(x.in[1]);
    return first.what == op::number && first.number == 0.0;
  }
};

/// One for each input, of its shape; none is a structural zero.
using cotangents = std::vector<std::optional<node_id>>;

/// Elementwise operators.
cotangents of_function(const pullback& b);
/// Operators that move elements, and their transposes.
cotangents of_movement(const pullback& b);
/// Reductions, and operators along an axis.
cotangents of_sums(const pullback& b);
/// Loops.
cotangents of_scan(const pullback& b);

}  // namespace assay::reference::formula
