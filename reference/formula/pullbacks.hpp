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

  /// f of the cotangent, elementwise and linear. Where a branch of the formula is not taken the cotangent is 0, and 0
  /// times anything is 0 there: f is of the other branch alone.
  template <class F>
  [[nodiscard]] node_id linear(F f) const {
    return linear_in(g, f);
  }

 private:
  template <class F>
  [[nodiscard]] node_id linear_in(node_id x, F& f) const {
    const node chosen = to.node_of(x);
    if (chosen.what != op::where) return f(x);
    const node_id condition = chosen.in[0], zero = to.number(0.0);
    if (is_zero(chosen.in[1])) return to.where(condition, zero, linear_in(chosen.in[2], f));
    if (is_zero(chosen.in[2])) return to.where(condition, linear_in(chosen.in[1], f), zero);
    return f(x);
  }
  [[nodiscard]] bool is_zero(node_id k) const {
    const node other = to.node_of(k);
    return other.what == op::number && other.number == 0.0;
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

}  // namespace assay::reference::formula
