// The accuracy classes of the verdict, from best to worst.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace assay::reference {

/// `uniform`: at most 2 ulp of the output's scale (core::error_scales), whatever n, p and h are. Each of the other
/// classes is named after an algorithm and has the error growth of this algorithm. Each class contains the classes
/// before it.
enum class accuracy_class { uniform, sequential, tree, linear, cumsum };

inline constexpr std::array accuracy_classes{accuracy_class::uniform, accuracy_class::sequential, accuracy_class::tree,
                                             accuracy_class::linear, accuracy_class::cumsum};

/// An operation that can be computed in one way only has a law and no accuracy class: its law stands in this place.
inline constexpr accuracy_class one_algorithm = accuracy_class::sequential;

/// A law k is multiplied by these factors before anything is called a bug, and before a class is denied: the laws are
/// of first order, and were measured on correct implementations.
inline constexpr double bug_slack = 2.0;
inline constexpr double class_slack = 1.25;

constexpr std::string_view name_of(accuracy_class c) {
  constexpr std::array<std::string_view, 5> names{"uniform", "sequential", "tree", "linear", "cumsum"};
  return names[static_cast<std::size_t>(c)];
}

constexpr std::optional<accuracy_class> accuracy_class_named(std::string_view name) {
  for (const accuracy_class c : accuracy_classes)
    if (name_of(c) == name) return c;
  return std::nullopt;
}

}  // namespace assay::reference
