// Relations of the sizes of two axes that a candidate declares: "n <= m", "n = m", "2 r = d".
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/core/operation.hpp"

namespace assay::properties {

/// `times` of the size of an axis.
struct multiple_of_axis {
  std::string axis;
  std::size_t times = 1;
  [[nodiscard]] std::string text() const;
  friend bool operator==(const multiple_of_axis&, const multiple_of_axis&) = default;
};

struct axis_relation {
  multiple_of_axis left, right;
  bool equal = true;  ///< else at most

  /// "n <= m". Of axes that a call does not have it holds.
  [[nodiscard]] bool holds(const core::axis_sizes& sizes) const;
  [[nodiscard]] std::string text() const;
  friend bool operator==(const axis_relation&, const axis_relation&) = default;
};

/// "n <= m", "m >= n", "n = m", "2 r = d"; nothing where it is no such text.
std::optional<axis_relation> parse_relation(std::string_view text);

/// Which sizes an axis may have, whatever the relations; of axes that are not moved their own alone.
using size_allowed = std::function<bool(const std::string& axis, std::size_t size)>;

/// Sizes for which all relations hold, near those that are given; these where none are found.
core::axis_sizes related(core::axis_sizes sizes, const std::vector<axis_relation>& relations,
                         const size_allowed& allowed);

/// The axes whose sizes are tied to that of `axis` by an equality, with how many of their positions belong to one of
/// its own: what is left out of one is left out of the others.
std::vector<multiple_of_axis> tied_to(const std::string& axis, const std::vector<axis_relation>& relations);

}  // namespace assay::properties
