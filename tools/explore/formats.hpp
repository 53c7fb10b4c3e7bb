// Storage formats of a sweep: the floating-point dtypes of tensors, and the two 8-bit formats.
//
// f8 formats: Micikevicius et al. 2022, "FP8 formats for deep learning", table 1. e4m3 has no infinity: what is too
// large for it becomes NaN.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "reference/core/dtype.hpp"

namespace assay::explore {

struct storage_format {
  std::string_view name;
  int precision;     ///< p, the hidden bit included
  int min_exponent;  ///< of the smallest normal number
  double largest;    ///< finite
  bool has_infinity;
  std::optional<core::dtype> type;  ///< where tensors have it

  /// u = 2^-p.
  [[nodiscard]] double unit_roundoff() const;
  /// To nearest, ties to even, gradual underflow; beyond the largest number infinity, or NaN where there is none.
  [[nodiscard]] double round(double x) const;
};

/// f64, f32, f16, bf16, e5m2, e4m3.
const std::vector<storage_format>& storage_formats();
/// Null where there is none of that name.
const storage_format* find_format(std::string_view name);

}  // namespace assay::explore
