// The tensors that stand beside each output of a golden file.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "reference/oracle.hpp"

namespace assay::golden {

/// What a manifest says of every output, and what `prove` does.
inline constexpr const char* proof_rounding = "to nearest, ties to even";
inline constexpr const char* proof_method = "enclosure";

/// What an allowance answers.
enum class question {
  bug,             ///< outside it is a bug: no law explains the error with the slack 2
  accuracy_class,  ///< outside it the class is neither `uniform` nor `sequential`: their laws do not explain the error
};
inline constexpr std::array questions{question::bug, question::accuracy_class};

/// For each output y of dtype t:
///
///   y             [t]    the truth rounded to nearest, ties to even; proved
///   y:low         [f64]  truth - y rounded to f64 likewise; proved. Where y overflowed, the truth itself; 0 where the
///                        truth is infinite or NaN
///   y:bug         [f64]  how far code in the arithmetic of t may be off y: outside is what the gate calls a bug
///   y:class       [f64]  the same for the classes `uniform` and `sequential`; at most y:bug
///   y:bug.f32,    [f64]  the same for code that stores f16 or bf16 and computes all of it in f32; there for such t
///   y:class.f32          alone
///
/// |x - truth| <= b is the rule of the verdict (reference/error_bound.hpp has b), and |x - y| <= y:bug follows from it,
/// y:bug being b + |truth - y|, rounded upwards to 8 bits. The slack belongs to the rule: k is a bound of first order,
/// and correct code must never fail. Infinite where any number is right, and where b reaches across the largest number
/// of t, so that the number and the infinity are both right. 0 where the truth is infinite or NaN, or so far beyond the
/// largest number that b does not reach back: there x must be the same.
///
/// Where an operation has one algorithm there are no classes: y:class has the law of this algorithm with the slack of a
/// class, 1.25. Code outside it is no bug and yet loses more digits than its algorithm explains.
///
/// k is computed with the C library's exp and log1p, whose last bits depend on the processor. 8 bits, and a
/// margin of 2^-20 that moves sums of powers of two off the steps, keep them out of the allowances.
struct proved_outputs {
  core::tensors tensors;
  /// How many elements each precision of reference::precision_digits proved.
  std::array<std::size_t, reference::precision_digits.size()> at_rung{};
};

std::string low_name(const std::string& output);
/// "y:bug", "y:class"; with ".f32" where the arithmetic is not that of the storage.
std::string allowance_name(const std::string& output, question asked, core::dtype storage, core::dtype arithmetic);
/// The dtype itself; of f16 and bf16 f32, too.
std::vector<core::dtype> arithmetics_of(core::dtype storage);
/// The names of all tensors that stand beside an output of this dtype.
std::vector<std::string> names_beside(const std::string& output, core::dtype storage);

/// An error that names output and index where an element is decided by none of the first `rungs` precisions.
core::result<proved_outputs> prove(const core::request& call, std::size_t rungs = reference::precision_digits.size());

/// How far x may be off y by the bound b on |x - truth|, from y and y:low; and that as an allowance.
double largest_distance(core::dtype type, double y, double low, double bound);
double allowed_distance(core::dtype type, double y, double low, double bound);

}  // namespace assay::golden
