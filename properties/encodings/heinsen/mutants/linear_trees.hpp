// Trees in the linear domain: X = e^s without a shift, from products of (p_i, e^{h_i}), p_i = e^{a_i}, with the rule
//
//   (p, x) then (q, y) = (p q, q x + y),
//
// and with the gradients that automatic differentiation gives for them. Gates are multiplied before they reach a state:
// mamba.py (alxndrTL/mamba.py, pscan.py), S5 (lindermanlab/S5) and lucidrains/assoc-scan have this form.
#pragma once

#include <vector>

#include "properties/encodings/heinsen/mutants/mutants.hpp"

namespace assay::properties::encodings::heinsen {

/// All products of one tree, in the order in which they are made.
class linear_tree {
 public:
  /// One step, or a product of steps.
  struct element {
    linear_tree* tree;
    std::size_t index;
    [[nodiscard]] element before(const element& second) const { return tree->join(index, second.index); }
    friend element then(const element& first, const element& second) { return first.before(second); }
  };
  /// The prefix products of elements.
  using prefixes = std::vector<element> (*)(const std::vector<element>&);

  /// The tree of one lane; the state before the first token is the element (1, e^s0).
  linear_tree(reference::const_lane<R> a, reference::const_lane<R> h, const R& s0, prefixes prefixes_of);
  linear_tree(const linear_tree&) = delete;
  linear_tree& operator=(const linear_tree&) = delete;

  /// X_0 ... X_n.
  [[nodiscard]] const R& x(std::size_t i) const { return nodes_[results_[i].index].x; }
  /// The gradients in a, h and s0, by a backward sweep over all products. Call it once for each tree.
  void pull_back(reference::const_lane<R> grad_s, const R& grad_last, reference::scan_gradients<R> grad);

 private:
  struct node {
    R p, x;
    std::size_t first = 0, second = 0;  ///< the factors of a product
    R grad_p{0.0}, grad_x{0.0};
  };
  element join(std::size_t first, std::size_t second);

  std::vector<node> nodes_;  // the steps, then the products
  std::size_t steps_;
  std::vector<element> results_;
};

/// Prefix products by doubling strides (Hillis and Steele 1986), by pairs of neighbours (as in an odd-even or Blelloch
/// tree), and with all gates from the first token on.
std::vector<linear_tree::element> products_by_doubling(const std::vector<linear_tree::element>& steps);
std::vector<linear_tree::element> products_of_neighbours(const std::vector<linear_tree::element>& steps);
std::vector<linear_tree::element> products_from_the_first(const std::vector<linear_tree::element>& steps);

/// States and gradients by such a tree; derivatives along a direction by dual numbers in a tree of doubling strides.
scheme_change<scan_scheme> in_linear_tree(linear_tree::prefixes prefixes_of);

}  // namespace assay::properties::encodings::heinsen
