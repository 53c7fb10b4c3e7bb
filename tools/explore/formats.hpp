// Storage formats of a sweep: the floating-point dtypes of tensors, and the two 8-bit formats.
//
// f8 formats: OCP 8-bit Floating Point Specification (OFP8), revision 1.0, after Micikevicius et al. 2022, "FP8 formats
// for deep learning", table 1. e4m3 has no infinity. The specification knows two conversions of what is too large: one
// that does not saturate, to infinity in e5m2 and to NaN in e4m3 (torch.float8_e4m3fn), and one that does, to the
// largest number, for infinities too (__NV_SATFINITE of CUDA). The second has names of its own, which end in _sat.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "reference/core/dtype.hpp"

namespace assay::explore {

/// What becomes of what is larger than the largest number, and of infinities.
enum class overflow { to_infinity, to_nan, saturates };

struct storage_format {
  std::string_view name;
  int precision;     ///< p, the hidden bit included
  int min_exponent;  ///< of the smallest normal number
  double largest;    ///< finite
  overflow beyond;
  std::optional<core::dtype> type;  ///< where tensors have it

  /// u = 2^-p.
  [[nodiscard]] double unit_roundoff() const;
  /// To nearest, ties to even, gradual underflow. NaN stays NaN.
  [[nodiscard]] double round(double x) const;
};

/// f64, f32, f16, bf16, e5m2, e4m3, e5m2_sat, e4m3_sat.
const std::vector<storage_format>& storage_formats();
/// Null where there is none of that name.
const storage_format* find_format(std::string_view name);

}  // namespace assay::explore
