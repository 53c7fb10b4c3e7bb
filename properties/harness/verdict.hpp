// The verdict rule: whether an error is a bug or rounding, and of which class.
//
//   an element passes if |x - truth| <= slack * u * k + half_ulp(truth)
//
// u belongs to the precision of the arithmetic (of its least precise stage if stages differ: the others enter k by
// their ratio), half an ulp to the storage dtype. k is the running error bound of the element under the law of a class
// (reference/algorithms/laws.hpp). An error that the widest law does not explain with slack 2 is a bug. The class is
// the first whose law explains everything with slack 1.25.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "properties/harness/implementation.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {

using reference::bug_slack;
using reference::class_slack;

/// One element compared with the truth.
struct element_report {
  std::string output;
  std::size_t index = 0;
  double expected = 0, actual = 0;
  double error = 0;    ///< |x - truth|
  double ulp = 0;      ///< the error in ulp of the output's scale (core::error_scales), in the storage dtype
  double allowed = 0;  ///< the bound of the widest law: bug_slack * u * k + half an ulp
  double ratio = 0;    ///< (error - half an ulp) / (u k) of the widest law; a bug above bug_slack
};

struct value_report {
  bool passed = true;
  /// False if an answer that knows nothing (zeros, the previous step, answers that the encoding declares) would pass
  /// too.
  bool informative = true;
  /// For each accuracy class: the largest (error - half an ulp) / (u k), divided by 1.25. For `uniform` it is divided
  /// by 1, and half an ulp is not subtracted if the arithmetic has the precision of the storage. The ratio is at most 1
  /// if the law explains the case.
  std::array<double, reference::accuracy_classes.size()> ratios{};
  double largest_ulp = 0;  ///< the largest error, in ulp of the output's scale
  /// For each accuracy class: the error that its law allows the element with the largest error, in the same unit.
  std::array<double, reference::accuracy_classes.size()> law_ulp{};
  std::size_t elements = 0, wrong = 0;  ///< the number of judged elements, and of those that are bugs
  element_report worst;                 ///< the first failing element, else the one with the largest ratio
  std::string message;                  ///< empty if it passed

  /// The first class that explains the case; nothing if none does.
  [[nodiscard]] std::optional<reference::accuracy_class> accuracy_class() const;
};

/// "0.25 and 0.5": nine digits of each, or as many as distinguish them.
std::string both_in_words(double x, double y);

/// The error that an element may have: bug_slack * u * k + half an ulp of the storage dtype at x.
double allowed_error(core::dtype storage, const core::precisions& compute, double k, double x);

/// A case's truth and allowances, computed once and compared with many implementations. It holds only the first laws:
/// most cases need no others.
struct expectation {
  request call;
  core::precisions compute{core::dtype::f64};
  reference::certified_outputs truth;
  /// The laws of `uniform` and `sequential`; wider classes repeat that of `sequential`.
  std::shared_ptr<const reference::allowances> first_laws;
  /// Whether answers that know nothing fail, by the first laws and by all laws; empty until it is known.
  mutable std::array<std::optional<bool>, 2> informative{};
};
/// The laws of all classes.
std::shared_ptr<const reference::allowances> all_laws(const expectation& e);

/// The scale of the error of every element of an output: core::error_scales of its truth.
std::vector<double> scales_of(const expectation& e, const std::string& output);

/// Returns the truth and the allowances of a call. The most recent ones are remembered, because one case is often put
/// to many implementations. Precondition: check_inputs accepts the inputs. This function is not thread-safe.
std::shared_ptr<const expectation> expect(const request& call, const core::precisions& compute);

/// Computes the result of expect() for each call, on all cores, and remembers it.
void expect_all(const std::vector<request>& calls, const core::precisions& compute);

/// The allowances alone, remembered likewise.
std::shared_ptr<const reference::allowances> allowances_of(const request& call, const core::precisions& compute);

/// Judges outputs that check_outputs accepts. The laws of wider classes are computed only if the first laws do not
/// explain the outputs.
value_report judge(const expectation& expected, const core::tensors& outputs);

/// The same for a call. Large calls with independent lanes are judged in parts, on all cores, and not remembered.
value_report judge(const request& call, const core::precisions& compute, const core::tensors& outputs);

/// The outputs of the previous time step at every step: an answer that knows nothing about the present token. The first
/// step gets the state before it if an output has the shape of the state, else 0. If outputs have no tokens, the first
/// axis counts as time.
core::tensors previous_step(const request& call, const core::tensors& outputs);

}  // namespace assay::properties
