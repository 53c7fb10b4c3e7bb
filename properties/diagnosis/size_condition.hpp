// A condition on the sizes of a call, in words, and sizes on both sides of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/core/operation.hpp"

namespace assay::properties {

enum class size_form {
  more,           ///< more than the bound
  less,           ///< less than the bound
  multiple_plus,  ///< a multiple of the period, plus the rest
  no_multiple,    ///< no multiple of the period
  equal,          ///< this form and the next three compare one axis with a multiple of another one
  unequal,
  smaller,
  at_most,
  product,  ///< the product of two axes is more than the bound
};

struct size_condition {
  size_form is;
  std::string axis;
  std::string other{};               ///< the second axis of a comparison or a product
  std::size_t bound = 0;             ///< for `more`, `less` and `product`; for `equal`: both sizes are more than this
  std::size_t period = 1, rest = 0;  ///< for the forms with multiples
  std::size_t middle = 1;            ///< for comparisons: about where samples are taken
  std::size_t times = 1;             ///< for comparisons: the axis is compared with this multiple of the other one

  /// Precondition: the axes of the condition are among the sizes.
  [[nodiscard]] bool holds(const core::axis_sizes& sizes) const;
  /// "n is more than 64", "d is odd", "n = h", "n = h > 1".
  [[nodiscard]] std::string words() const;
  /// Whether the condition is on two axes: a comparison or a product.
  [[nodiscard]] bool has_two_axes() const { return !other.empty(); }
  /// Sizes of its axes on both sides of the condition: beside the bound and far from it, odd and even ones.
  [[nodiscard]] std::vector<core::axis_sizes> samples() const;
};

/// The first power of two above a size, at least 64: a multiple of all smaller blocks. Programs compute the rest after
/// whole blocks in another way.
std::size_t whole_blocks_above(std::size_t size);

/// Sizes of two axes that are less, equal and more, close together and far apart: they show how the two compare.
std::vector<core::axis_sizes> compared_sizes(const std::string& axis, const std::string& other, std::size_t middle,
                                             std::size_t times = 1);

/// "n is more than 64 and d is odd".
std::string words_of(const std::vector<size_condition>& all);
/// If the only condition is that two axes are unequal, or that one is smaller: the relation with which a domain leaves
/// such calls out. Otherwise empty.
std::string relation_in_words(const std::vector<size_condition>& all);

}  // namespace assay::properties
