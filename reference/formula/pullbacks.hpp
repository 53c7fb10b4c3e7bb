// How the operators of a program pass cotangents back to their inputs: one rule for each operator, written as nodes.
#pragma once

#include <optional>

#include "reference/formula/differentiate.hpp"
#include "reference/formula/program_writer.hpp"

namespace assay::reference::formula {

/// A node y whose cotangent g is complete, and the writer for its rule.
struct pullback {
  program_writer& to;
  const node& n;
  node_id y, g;
  const std::vector<bool>& leads;  ///< whether a cotangent leads on from a node of the formula to an input
  const std::vector<std::optional<node_id>>& reached;  ///< the cotangents of the nodes of the formula that are reached
                                                       ///< so far
  const std::vector<std::vector<node_id>>& uses;       ///< the uses of each node of the formula; an output is used by
                                                       ///< itself, too
  gradient_form form;

  [[nodiscard]] node_id in(std::size_t k) const { return n.in[k]; }
  [[nodiscard]] core::shape shape_of(node_id k) const { return to.shape_of(k); }

  /// The cotangent, with 0 where the mask hides it. Several masks become one.
  [[nodiscard]] node_id hidden(node_id where_hidden) const {
    if (!is_masked(g)) return to.where(where_hidden, to.number(0.0), g);
    const node masked = to.node_of(g);
    return to.where(to.operation(op::either_one, {where_hidden, masked.in[0]}), masked.in[1], masked.in[2]);
  }
  /// f of the cotangent; f is elementwise and linear. Where a branch of the formula is not taken, the cotangent is 0,
  /// and 0 times anything is 0 there: f applies to the other branch alone.
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

/// A cotangent for each input, with its shape; none means a structural zero.
using cotangents = std::vector<std::optional<node_id>>;

/// The cotangents of elementwise operators.
cotangents cotangents_of_function(const pullback& b);
/// The cotangents of operators that move elements, and of their transposes.
cotangents cotangents_of_movement(const pullback& b);
/// The cotangents of reductions, and of operators along an axis.
cotangents cotangents_of_sums(const pullback& b);
/// The cotangents of loops.
cotangents cotangents_of_scan(const pullback& b);

}  // namespace assay::reference::formula
