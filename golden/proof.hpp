// The tensors that stand beside each output of a golden file.
#pragma once

#include <array>
#include <string>

#include "reference/oracle.hpp"

namespace assay::golden {

/// What a manifest says of every output, and what `prove` does.
inline constexpr const char* proof_rounding = "to nearest, ties to even";
inline constexpr const char* proof_method = "enclosure";

/// For each output y of dtype t:
///
///   y        [t]    the truth rounded to nearest, ties to even; proved
///   y:low    [f64]  truth - y rounded to f64 likewise; proved. Where y overflowed, the truth itself; 0 where
///                   the truth is infinite or NaN
///   y:allow  [f64]  |x - truth| <= 2 u k + half an ulp of y is the verdict rule for class `sequential` with
///                   arithmetic in t; |x - y| <= y:allow follows from it, y:allow being the right side plus
///                   |truth - y|, rounded upwards to 8 bits. The slack 2 belongs to the rule: k is a bound of
///                   first order, and correct code must never fail. Infinite where any number is right, and
///                   where the right side reaches beyond the largest number of t, so that the number and the
///                   infinity are both right. 0 where the truth is infinite or NaN: there x must be the same.
///
/// k is computed with the C library's exp and log1p, whose last bits depend on the processor. 8 bits, and a
/// margin of 2^-20 that moves sums of powers of two off the steps, keep them out of y:allow.
struct proved_outputs {
  core::tensors tensors;
  /// How many elements each precision of reference::precision_digits proved.
  std::array<std::size_t, reference::precision_digits.size()> at_rung{};
};

std::string low_name(const std::string& output);
std::string allow_name(const std::string& output);

/// An error that names output and index where an element is decided by none of the first `rungs` precisions.
core::result<proved_outputs> prove(const core::request& call, std::size_t rungs = reference::precision_digits.size());

/// y:allow of one element from y, y:low and k.
double allowed_distance(core::dtype type, double y, double low, double k);

}  // namespace assay::golden
