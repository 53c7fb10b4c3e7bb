#include "reference/core/dtype.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace assay::core {
namespace {

struct dtype_name {
  dtype type;
  std::string_view name;
  int bytes;
};
constexpr std::array<dtype_name, 7> names{{{dtype::f64, "f64", 8},
                                           {dtype::f32, "f32", 4},
                                           {dtype::f16, "f16", 2},
                                           {dtype::bf16, "bf16", 2},
                                           {dtype::i64, "i64", 8},
                                           {dtype::i32, "i32", 4},
                                           {dtype::boolean, "bool", 1}}};

// 2^e for an exponent of a normal double, without a call: this is the inner loop of every simulated format.
constexpr double power_of_two(int e) { return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + e) << 52); }

// floor(log2 |x|) for a normal double; -1023 for a subnormal one, which is below emin of every format.
int exponent_of(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) - 1023; }

// Exponent of the last place of a format narrower than f64 at a finite x != 0.
int quantum_exponent(float_format f, double x) { return std::max(exponent_of(x), f.min_exponent) - (f.precision - 1); }

constexpr double largest_of(float_format f) {
  return (2.0 - power_of_two(1 - f.precision)) * power_of_two(f.max_exponent);
}

// A finite x != 0, in a format whose numbers are constants here.
template <dtype Type>
double round_finite(double x) {
  constexpr float_format f = format_of(Type);
  const int quantum = quantum_exponent(f, x);
  // Beside 1.5 * 2^(quantum + 52) a double has its last place at the quantum, and |x| is below 2^(quantum + 24):
  // the addition is the one rounding, to nearest, ties to even.
  if (quantum + 52 > 1023) return std::copysign(std::numeric_limits<double>::infinity(), x);
  const double anchor = 1.5 * power_of_two(quantum + 52), rounded = (x + anchor) - anchor;
  if (std::fabs(rounded) > largest_of(f)) return std::copysign(std::numeric_limits<double>::infinity(), x);
  return rounded == 0.0 ? std::copysign(0.0, x) : rounded;
}

}  // namespace

double unit_roundoff(dtype t) { return power_of_two(-format_of(t).precision); }
double smallest_normal(dtype t) { return power_of_two(format_of(t).min_exponent); }
double smallest_subnormal(dtype t) {
  const float_format f = format_of(t);
  return std::ldexp(1.0, f.min_exponent - f.precision + 1);
}
double largest_finite(dtype t) { return largest_of(format_of(t)); }

double round_to(dtype t, double x) {
  if (t == dtype::f64 || !std::isfinite(x) || x == 0.0) return x;
  switch (t) {
    case dtype::f32:
      return std::fabs(x) >= std::numeric_limits<float>::min() ? static_cast<float>(x) : round_finite<dtype::f32>(x);
    case dtype::f16:
      return round_finite<dtype::f16>(x);
    case dtype::bf16:
      return round_finite<dtype::bf16>(x);
    default:
      return std::nearbyint(x);
  }
}

double half_ulp(dtype t, double x) {
  if (!std::isfinite(x) || !is_floating(t)) return 0.0;
  return half_ulp(format_of(t), x);
}

double next_above(dtype t, double x) {
  if (t == dtype::f64) return std::nextafter(x, std::numeric_limits<double>::infinity());
  if (std::isnan(x) || x == std::numeric_limits<double>::infinity()) return x;
  if (x == -std::numeric_limits<double>::infinity()) return -largest_finite(t);
  if (x == 0.0) return smallest_subnormal(t);
  const std::uint64_t bits = to_bits(t, x);
  return from_bits(t, x > 0.0 ? bits + 1 : bits - 1);
}

double next_below(dtype t, double x) { return -next_above(t, -x); }

std::string_view name_of(dtype t) { return names[static_cast<std::size_t>(t)].name; }
int bytes_of(dtype t) { return names[static_cast<std::size_t>(t)].bytes; }

std::optional<dtype> dtype_named(std::string_view name) {
  for (const dtype_name& entry : names)
    if (entry.name == name) return entry.type;
  return std::nullopt;
}

std::uint64_t to_bits(dtype t, double x) {
  if (t == dtype::f64) return std::bit_cast<std::uint64_t>(x);
  if (t == dtype::f32 || t == dtype::bf16) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    if (t == dtype::f32) return bits;
    // A NaN whose payload lies in the dropped half must not turn into an infinity.
    return std::isnan(x) ? (bits >> 16) | 0x40u : bits >> 16;
  }
  const std::uint64_t sign = std::signbit(x) ? 0x8000u : 0u;
  if (std::isnan(x)) return sign | 0x7e00u;
  if (std::isinf(x)) return sign | 0x7c00u;
  if (x == 0.0) return sign;
  const int exponent = std::ilogb(x);
  const int quantum = quantum_exponent(format_of(t), x);
  const auto significand = static_cast<std::uint64_t>(std::ldexp(std::fabs(x), -quantum));
  // Normals carry the hidden bit at 2^10, so adding the biased exponent less one cancels it.
  return sign | (exponent < -14 ? significand : (static_cast<std::uint64_t>(exponent + 14) << 10) + significand);
}

double from_bits(dtype t, std::uint64_t bits) {
  if (t == dtype::f64) return std::bit_cast<double>(bits);
  if (t == dtype::f32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (t == dtype::bf16) return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  const double sign = (bits & 0x8000u) ? -1.0 : 1.0;
  const int exponent = static_cast<int>((bits >> 10) & 0x1fu);
  const auto fraction = static_cast<double>(bits & 0x3ffu);
  if (exponent == 31)
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024.0, exponent - 25);
}

}  // namespace assay::core
