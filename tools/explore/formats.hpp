// Storage formats of a sweep: the floating-point dtypes of tensors, and the two 8-bit formats.
//
// f8 formats: OCP 8-bit Floating Point Specification (OFP8), revision 1.0, after Micikevicius et al. 2022, "FP8 formats
// for deep learning", table 1. e4m3 has no infinity. The specification has two conversions for numbers that are too
// large. One does not saturate: it gives infinity in e5m2 and NaN in e4m3 (torch.float8_e4m3fn). The other saturates to
// the largest number, for infinities too (__NV_SATFINITE of CUDA); its names end in _sat.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "reference/core/dtype.hpp"

namespace assay::explore {

/// The result for numbers that round beyond the largest number, and for infinities.
enum class overflow { to_infinity, to_nan, saturates };

struct storage_format {
  std::string_view name;
  int precision;     ///< p, the hidden bit included
  int min_exponent;  ///< exponent of the smallest normal number
  double largest;    ///< largest finite number
  overflow beyond;
  std::optional<core::dtype> type;  ///< the dtype of tensors, if it is one

  /// u = 2^-p.
  [[nodiscard]] double unit_roundoff() const;
  /// To nearest, ties to even, gradual underflow. NaN stays NaN.
  [[nodiscard]] double round(double x) const;
};

/// f64, f32, f16, bf16, e5m2, e4m3, e5m2_sat, e4m3_sat.
const std::vector<storage_format>& storage_formats();
/// Returns null if there is no format of that name.
const storage_format* find_format(std::string_view name);

}  // namespace assay::explore
