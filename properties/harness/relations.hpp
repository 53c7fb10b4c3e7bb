// Relations between the sizes of two axes that a candidate declares: "n <= m", "n = m", "2 r = d".
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/core/operation.hpp"

namespace assay::properties {

/// A multiple of the size of an axis.
struct multiple_of_axis {
  std::string axis;
  std::size_t times = 1;
  [[nodiscard]] std::string text() const;
  friend bool operator==(const multiple_of_axis&, const multiple_of_axis&) = default;
};

struct axis_relation {
  multiple_of_axis left, right;
  bool equal = true;  ///< else at most as large

  /// For "n <= m": whether it is true. A relation holds if the call lacks one of its axes.
  [[nodiscard]] bool holds(const core::axis_sizes& sizes) const;
  [[nodiscard]] std::string text() const;
  friend bool operator==(const axis_relation&, const axis_relation&) = default;
};

/// Parses "n <= m", "m >= n", "n = m", "2 r = d"; nothing if the text has no such form.
std::optional<axis_relation> parse_relation(std::string_view text);

/// Whether an axis may have a size, apart from the relations; an axis that must not move allows only its own size.
using size_allowed = std::function<bool(const std::string& axis, std::size_t size)>;

/// Sizes near the given ones for which all relations hold; the given ones if none are found.
core::axis_sizes related(core::axis_sizes sizes, const std::vector<axis_relation>& relations,
                         const size_allowed& allowed);

/// The axes whose sizes an equality ties to that of `axis`, each with the number of its positions that belong to one
/// position of `axis`: positions left out of one axis are left out of the others.
std::vector<multiple_of_axis> tied_to(const std::string& axis, const std::vector<axis_relation>& relations);

}  // namespace assay::properties
