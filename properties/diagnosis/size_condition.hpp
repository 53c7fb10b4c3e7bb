// A condition on the sizes of a call, in words, and sizes on both sides of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/core/operation.hpp"

namespace assay::properties {

enum class size_form {
  more,           ///< than the bound
  less,           ///< than the bound
  multiple_plus,  ///< a multiple of the period, plus the rest
  no_multiple,    ///< of the period
  equal,          ///< these compare two axes
  unequal,
  smaller,
  at_most,
  product,  ///< of two axes: more than the bound
};

struct size_condition {
  size_form is;
  std::string axis;
  std::string other{};               ///< of those that compare
  std::size_t bound = 0;             ///< of `more`, `less` and `product`; of `equal`: both are more than this
  std::size_t period = 1, rest = 0;  ///< of those of multiples
  std::size_t at = 1;                ///< of those that compare: about where samples are taken
  std::size_t times = 1;             ///< of those that compare: the axis with so many of the other one

  /// Precondition: the axes are among the sizes.
  [[nodiscard]] bool holds(const core::axis_sizes& sizes) const;
  /// "n is more than 64", "d is odd", "n = h", "n = h > 1".
  [[nodiscard]] std::string words() const;
  /// Whether it compares two axes.
  [[nodiscard]] bool compares() const { return !other.empty(); }
  /// Sizes of its axes on both sides of it: beside the bound and far from it, odd and even ones.
  [[nodiscard]] std::vector<core::axis_sizes> samples() const;
};

/// The first power of two above a size, of at least 64: a whole number of all smaller blocks. What is left over after
/// whole blocks is computed in another way.
std::size_t whole_blocks_above(std::size_t size);

/// Sizes of two axes that are less, equal and more, beside each other and far apart: what tells how they compare.
std::vector<core::axis_sizes> compared_sizes(const std::string& axis, const std::string& other, std::size_t at,
                                             std::size_t times = 1);

/// "n is more than 64 and d is odd".
std::string words_of(const std::vector<size_condition>& all);
/// Where one that compares two axes stands alone: that a domain may declare the relation without it; else empty.
std::string relation_in_words(const std::vector<size_condition>& all);

}  // namespace assay::properties
