// The accuracy classes of the verdict, from best to worst.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace assay::reference {

/// `uniform`: at most 2 ulp of the output's scale (core::error_scales) whatever n, p and h. The others are named after
/// the algorithm whose error growth they share; each contains those before it.
enum class accuracy_class { uniform, sequential, tree, linear, cumsum };

inline constexpr std::array accuracy_classes{accuracy_class::uniform, accuracy_class::sequential, accuracy_class::tree,
                                             accuracy_class::linear, accuracy_class::cumsum};

/// Where there is one way to compute an operation, it has a law and no accuracy class: the law stands in this place.
inline constexpr accuracy_class one_algorithm = accuracy_class::sequential;

/// What a law k is multiplied by before anything is called a bug, and before a class is denied: the laws are
/// of first order, and measured on correct implementations.
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
