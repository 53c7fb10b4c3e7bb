// Element types of tensors and the one definition of their roundings, ulps and limits.
//
// Every floating-point format here is a subset of double, so a value of any of them is held in a
// double, and "a value of dtype f16" means a double that f16 represents exactly.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::core {

enum class dtype : std::uint8_t { f64, f32, f16, bf16, i64, i32, boolean };

inline constexpr dtype floating_dtypes[] = {dtype::f64, dtype::f32, dtype::f16, dtype::bf16};

/// A binary floating-point format in the terms of IEEE 754-2019, table 3.5.
struct float_format {
  int precision;     ///< p: bits of the significand, the hidden one included
  int min_exponent;  ///< emin: exponent of the smallest normal number
  int max_exponent;  ///< emax: exponent of the largest finite number
};

constexpr bool is_floating(dtype t) { return t <= dtype::bf16; }

/// The format of a floating-point dtype. Precondition: is_floating(t).
constexpr float_format format_of(dtype t) {
  switch (t) {
    case dtype::f32:
      return {24, -126, 127};
    case dtype::f16:
      return {11, -14, 15};
    case dtype::bf16:
      return {8, -126, 127};
    default:
      return {53, -1022, 1023};
  }
}

/// u = 2^-p, the largest relative error of one rounding to nearest.
///
///     const double u = core::unit_roundoff(core::dtype::bf16);  // 2^-8
double unit_roundoff(dtype t);
double smallest_normal(dtype t);
double smallest_subnormal(dtype t);
double largest_finite(dtype t);

/// `x` rounded to nearest, ties to even, gradual underflow, overflow to infinity. Exact for all x. In integer dtypes:
/// to the nearest integer.
///
///     const double stored = core::round_to(core::dtype::bf16, 0.1);  // 0.10009765625
double round_to(dtype t, double x);

/// Half the spacing of the format at x: 2^(max(floor(log2|x|), emin) - p), rounded up to a double. At 0 and for
/// subnormals it is half the smallest subnormal, of f64 the whole one: 2^-1075 is no double. 0 for infinities, for NaN
/// and in integer dtypes.
///
///     const double rounding = core::half_ulp(core::dtype::f32, 1.0);  // 2^-24
double half_ulp(dtype t, double x);
/// The same for a finite x, in a floating-point format.
inline double half_ulp(const float_format& f, double x) {
  const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) - 1023;
  const int last = (exponent > f.min_exponent ? exponent : f.min_exponent) - f.precision;
  // 2^-1075 is no double and goes up to the smallest one.
  if (last < -1022) return last < -1074 ? 0x1p-1074 : std::ldexp(1.0, last);
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + last) << 52);
}

/// The neighbours of x in the format; x must be a value of it.
///
///     const double next = core::next_above(core::dtype::f16, 1.0);  // 1 + 2^-10
double next_above(dtype t, double x);
double next_below(dtype t, double x);

/// "f64", "f32", "f16", "bf16", "i64", "i32", "bool".
///
///     const std::optional<core::dtype> type = core::dtype_named("bf16");
///     std::cout << core::name_of(*type) << " has " << core::bytes_of(*type) << " bytes\n";
std::string_view name_of(dtype t);
std::optional<dtype> dtype_named(std::string_view name);
int bytes_of(dtype t);

/// The bit pattern of a value of a floating-point dtype, and back. f16 and bf16 use the low 16 bits.
///
///     const std::uint64_t bits = core::to_bits(core::dtype::f16, 1.0);  // 0x3c00
///     const double x = core::from_bits(core::dtype::f16, bits);
std::uint64_t to_bits(dtype t, double x);
double from_bits(dtype t, std::uint64_t bits);

}  // namespace assay::core
