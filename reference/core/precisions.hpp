// The floating-point formats that an operation is computed in: one for all of it, or one for each of its stages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/core/dtype.hpp"

namespace assay::core {

/// A part of an operation that implementations compute in a format of its own.
struct stage_declaration {
  std::string name;
  std::string meaning;
  /// The format of f16 and bf16 code where nothing else is known: true means the format of the tensors, as in common
  /// frameworks; false means f32.
  bool narrow = false;
};

/// The stage in which sums of products are added up, where an operation declares it. The total is rounded to the format
/// of the stage that it belongs to.
inline constexpr std::string_view accumulation = "accumulation";

/// A format for each stage. Errors are counted in units of u of the least precise format.
class precisions {
 public:
  /// One format for all stages.
  precisions(dtype all) : unit_(all) {}
  /// Formats in the order of the declared stages; one for all where they are equal. Precondition: there are as many
  /// formats as stages, at least one, and all are floating-point.
  precisions(const std::vector<stage_declaration>& stages, std::vector<dtype> formats);

  [[nodiscard]] dtype unit() const { return unit_; }
  [[nodiscard]] dtype format(std::size_t stage) const { return by_stage_.empty() ? unit_ : by_stage_[stage]; }
  [[nodiscard]] bool differ() const { return !by_stage_.empty(); }
  /// The format of the stage `accumulation`; nothing where sums have the format of the stage that they belong to.
  [[nodiscard]] std::optional<dtype> sums() const { return sums_; }
  /// The same formats, where every rounding goes up or down at random (readings/rounded.hpp). Another seed gives other
  /// directions.
  [[nodiscard]] precisions at_random(std::uint64_t seed) const {
    precisions same = *this;
    same.seed_ = seed;
    return same;
  }
  [[nodiscard]] std::optional<std::uint64_t> seed() const { return seed_; }
  friend bool operator==(const precisions&, const precisions&) = default;

 private:
  dtype unit_;
  std::optional<dtype> sums_{};
  std::vector<dtype> by_stage_{};  ///< empty where all are the same
  std::optional<std::uint64_t> seed_{};
};

/// "f32", "angle f32, table bf16, product bf16".
std::string to_string(const precisions& p, const std::vector<stage_declaration>& stages);

}  // namespace assay::core
