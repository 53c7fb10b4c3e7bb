// Declarations of operations on pairs of a query and a key (kinds/pair_bias.hpp).
#pragma once

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "reference/kinds/declarations.hpp"

namespace assay::reference {

/// How an operation treats keys after the query.
struct future_keys {
  enum class rule { masked, zero, symmetric };
  rule treatment;

  explicit future_keys(const core::attributes& settings)
      : treatment(core::chosen<rule>(
            settings, "future", {{"masked", rule::masked}, {"zero", rule::zero}, {"symmetric", rule::symmetric}})) {}
  /// The distance of a pair; no value where the pair is masked.
  [[nodiscard]] std::optional<double> distance(double query, double key) const {
    if (key > query && treatment == rule::masked) return std::nullopt;
    return key > query && treatment == rule::zero ? 0.0 : std::fabs(query - key);
  }
  static core::attribute_declaration declared() {
    return choice(
        "future", {"masked", "zero", "symmetric"},
        "what keys after the query have: the bias -inf, that of the distance 0, or that of their own distance");
  }
};

/// The inputs of such an operation: its parameters, then the positions; `first` is the least position.
inline std::vector<core::tensor_declaration> with_pair_positions(std::vector<core::tensor_declaration> parameters,
                                                                 double first = -0x1p31) {
  const auto position = [first](const char* name, const char* axis, const char* meaning) {
    return core::integers(name, {axis}, meaning, {first, 0x1p31}, core::input_role::position);
  };
  parameters.push_back(position("query_position", "n", "position of each query"));
  parameters.push_back(position("key_position", "m", "position of each key"));
  return parameters;
}
/// Completes the declaration of such an operation: errors grow with the distance where keys have positions.
inline core::operation pair_operation(core::operation declaration) {
  if (core::places_of(declaration).key != nullptr) declaration.grows_with = core::with_distance;
  return declaration;
}
/// The output of such an operation.
inline core::tensor_declaration pair_bias_output(core::error_scale scale) {
  return {.name = "bias", .axes = {"h", "n", "m"}, .meaning = "logit bias, queries by keys", .scale = scale};
}

}  // namespace assay::reference
