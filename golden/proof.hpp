// The tensors beside each output of a golden file.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "reference/oracle.hpp"

namespace assay::golden {

/// The statement of a manifest about every output, and what `prove` does.
inline constexpr const char* proof_rounding = "to nearest, ties to even";
inline constexpr const char* proof_method = "enclosure";

/// The question that an allowance answers.
enum class question {
  bug,             ///< a number outside is a bug: no law explains the error with the slack 2
  accuracy_class,  ///< outside, the class is neither `uniform` nor `sequential`: their laws do not explain the error
};
inline constexpr std::array questions{question::bug, question::accuracy_class};

/// For each output y of dtype t:
///
///   y             [t]    the truth rounded to nearest, ties to even; proved
///   y:low         [f64]  truth - y, rounded to f64 in the same way; proved. Where y overflowed, the truth itself; 0
///                        where the truth is infinite or NaN
///   y:bug         [f64]  the largest distance from y for code in the arithmetic of t: beyond it the gate reports a bug
///   y:class       [f64]  the same for the classes `uniform` and `sequential`; at most y:bug
///   y:bug.f32,    [f64]  the same for code that stores f16 or bf16 and computes everything in f32; these exist for f16
///   y:class.f32          and bf16 alone
///
/// The rule of the verdict is |x - truth| <= b (reference/error_bound.hpp defines b). |x - y| <= y:bug follows from it,
/// since y:bug is b + |truth - y|, rounded up to 8 bits. The slack belongs to the rule: k is a bound of first order,
/// and correct code must never fail. y:bug is infinite where any number is right, and where b reaches beyond the
/// largest number of t, so that the number and the infinity are both right. It is 0 where the truth is infinite or NaN,
/// or so far beyond the largest number that b does not reach back: there x must equal y.
///
/// Where an operation has one algorithm there are no classes: y:class is the law of this algorithm with the slack of a
/// class, 1.25. Code beyond it has no bug, and yet it loses more digits than its algorithm explains.
///
/// k is computed with the C library's exp and log1p, whose last bits depend on the processor. Rounding to 8 bits, and a
/// margin of 2^-20 that keeps sums of powers of two away from the steps, remove this dependence from the allowances.
struct proved_outputs {
  core::tensors tensors;
  /// How many elements each precision of reference::precision_digits proved.
  std::array<std::size_t, reference::precision_digits.size()> elements_by_rung{};
};

std::string low_name(const std::string& output);
/// "y:bug", "y:class"; with ".f32" where the arithmetic has another format than the storage.
std::string allowance_name(const std::string& output, question kind, core::dtype storage, core::dtype arithmetic);
/// The dtype itself; for f16 and bf16 also f32.
std::vector<core::dtype> arithmetics_of(core::dtype storage);
/// The names of all tensors beside an output of this dtype.
std::vector<std::string> names_beside(const std::string& output, core::dtype storage);

/// Proves the outputs of a call. If none of the first `rungs` precisions decides an element, the error names output and
/// index.
core::result<proved_outputs> prove(const core::request& call, std::size_t rungs = reference::precision_digits.size());

/// The largest |x - y| where |x - truth| <= b, computed from y and y:low; and the same as an allowance.
double largest_distance(core::dtype type, double y, double low, double bound);
double allowed_distance(core::dtype type, double y, double low, double bound);

}  // namespace assay::golden
