// 16-bit numbers. Arrays are stored in them; nothing is computed in them.
//
// Code that is compiled for instruction sets that the processor may lack reads this header. Its functions are therefore
// always inlined, so that no other code shares them.
#pragma once

#include <cstdint>

namespace assay::optimized {

namespace storage {

[[gnu::always_inline]] inline std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
[[gnu::always_inline]] inline float from_bits(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

/// Returns the multiple of 2^`digits` nearest to bits; if two are equally near, the even one. This rounds the
/// significand of a float.
[[gnu::always_inline]] inline std::uint32_t round_to_multiple(std::uint32_t bits, int digits) {
  return bits + ((bits >> digits & 1) + (1u << (digits - 1)) - 1);
}

/// Returns x if the condition holds, else y. It has no branch, because a branch would keep the compiler from
/// vectorizing a loop.
[[gnu::always_inline]] inline std::uint32_t chosen(bool condition, std::uint32_t x, std::uint32_t y) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(condition);
  return (x & mask) | (y & ~mask);
}

}  // namespace storage

/// The upper half of a float, with 8 bits of significand.
struct bfloat16 {
  std::uint16_t bits;

  [[gnu::always_inline]] static float widened(std::uint16_t bits) {
    return storage::from_bits(static_cast<std::uint32_t>(bits) << 16);
  }
  /// Rounds to nearest, ties to even. A NaN stays NaN.
  ///
  ///     const bfloat16 stored{bfloat16::rounded(0.1f)};
  ///     const float x = bfloat16::widened(stored.bits);  // 0.10009765625
  [[gnu::always_inline]] static std::uint16_t rounded(float x) {
    const std::uint32_t bits = storage::bits_of(x);
    const std::uint32_t nearest = storage::round_to_multiple(bits, 16), nan = bits | 0x400000u;
    return static_cast<std::uint16_t>(storage::chosen((bits & 0x7fffffffu) > 0x7f800000u, nan, nearest) >> 16);
  }
};

/// IEEE 754 binary16: 11 bits of significand, largest number 65504, smallest 2^-24.
struct float16 {
  std::uint16_t bits;

  [[gnu::always_inline]] static float widened(std::uint16_t bits) {
    const std::uint32_t magnitude = bits & 0x7fffu, sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t normal_bits = (magnitude << 13) + (112u << 23), special_bits = (magnitude << 13) | 0x7f800000u;
    const std::uint32_t subnormal_bits =
        storage::bits_of(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
    const std::uint32_t large_bits = storage::chosen(magnitude < 0x7c00u, normal_bits, special_bits);
    return storage::from_bits(storage::chosen(magnitude < 0x400u, subnormal_bits, large_bits) | sign);
  }
  /// Rounds to nearest, ties to even; numbers from 65520 on become infinity. A NaN stays NaN.
  ///
  ///     const float16 stored{float16::rounded(0.1f)};
  ///     const float x = float16::widened(stored.bits);  // 0.0999755859375
  [[gnu::always_inline]] static std::uint16_t rounded(float x) {
    const std::uint32_t bits = storage::bits_of(x), magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
    const std::uint32_t normal_bits = (storage::round_to_multiple(magnitude, 13) >> 13) - (112u << 10);
    // Floats from 0.5 to 1 have steps of 2^-24, which are also the steps of subnormals. The sum therefore rounds
    // correctly.
    const float shifted = storage::from_bits(magnitude) + 0.5f;
    const std::uint32_t subnormal_bits = storage::bits_of(shifted) - storage::bits_of(0.5f);
    const std::uint32_t finite = storage::chosen(magnitude < 113u << 23, subnormal_bits, normal_bits);
    const std::uint32_t special = storage::chosen(magnitude > 0x7f800000u, 0x7e00u, 0x7c00u);
    return static_cast<std::uint16_t>(sign | storage::chosen(magnitude < 0x477ff000u, finite, special));
  }
};

/// The type in which an operation on arrays of T computes and keeps its state.
template <class T>
struct arithmetic {
  using type = T;
};
template <>
struct arithmetic<bfloat16> {
  using type = float;
};
template <>
struct arithmetic<float16> {
  using type = float;
};
template <class T>
using arithmetic_of = typename arithmetic<T>::type;

}  // namespace assay::optimized
