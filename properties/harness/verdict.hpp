// The verdict rule: a bug, or rounding? And of what class?
//
//   an element passes if |x - truth| <= slack * u * k + half_ulp(truth)
//
// u belongs to the precision of the arithmetic (of its least precise stage, where stages differ: those of the others
// enter k by their ratio), half an ulp to the storage dtype, k is the running error
// bound of that element under the law of a class (reference/algorithms/laws.hpp). What the widest law does
// not explain with slack 2 is a bug. The class is the first whose law explains everything with slack 1.25.
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

/// One element and how it stands against the truth.
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
  /// False where an answer that knows nothing (zeros, the previous step, what the encoding declares) would pass as
  /// well.
  bool informative = true;
  /// By accuracy class: the largest (error - half an ulp) / (u k), over 1.25; at most 1 where the law explains
  /// the case.
  std::array<double, reference::accuracy_classes.size()> ratios{};
  double largest_ulp = 0;  ///< the largest error, in ulp of the output's scale
  /// By accuracy class: the error that its law allows the element with the largest error, in the same unit.
  std::array<double, reference::accuracy_classes.size()> law_ulp{};
  std::size_t elements = 0, wrong = 0;  ///< judged, and those that are bugs
  element_report worst;                 ///< the first failing element, else the one with the largest ratio
  std::string message;                  ///< empty where passed

  /// The first class that explains the case; nothing where none does.
  [[nodiscard]] std::optional<reference::accuracy_class> accuracy_class() const;
};

/// "0.25 and 0.5": nine digits of each, or as many as it takes to tell them apart.
std::string both_in_words(double x, double y);

/// The error that an element may have: bug_slack * u * k + half an ulp of the storage dtype at x.
double allowed_error(core::dtype storage, const core::precisions& compute, double k, double x);

/// A case's truth and allowances, computed once and compared with many implementations. Of the laws only the first one
/// is there: most cases need no other.
struct expectation {
  request call;
  core::precisions compute{core::dtype::f64};
  reference::certified_outputs truth;
  /// The laws of `uniform` and `sequential`; those of wider classes are that of `sequential` again.
  std::shared_ptr<const reference::allowances> first_laws;
  /// Whether answers that know nothing fail, by the first law and by the widest; once known.
  mutable std::array<std::optional<bool>, 2> informative{};
};
/// The laws of all classes.
std::shared_ptr<const reference::allowances> all_laws(const expectation& e);

/// The scale of the error of every element of an output: core::error_scales of its truth.
std::vector<double> scales_of(const expectation& e, const std::string& output);

/// Truth and allowances of a call; the most recent ones are remembered, since one case is often put to many
/// implementations. Precondition: check_inputs accepts the inputs. Not thread-safe.
std::shared_ptr<const expectation> expect(const request& call, const core::precisions& compute);

/// Finds what expect() would for each call, on all cores, and remembers it.
void expect_all(const std::vector<request>& calls, const core::precisions& compute);

/// The allowances alone, remembered likewise.
std::shared_ptr<const reference::allowances> allowances_of(const request& call, const core::precisions& compute);

/// Judges outputs that check_outputs accepts. The laws of wider classes are computed where the first one does not
/// explain the outputs.
value_report judge(const expectation& expected, const core::tensors& outputs);

/// The same of a call. Large calls whose lanes are independent are judged in parts, on all cores, and not remembered.
value_report judge(const request& call, const core::precisions& compute, const core::tensors& outputs);

/// The outputs of the previous time step at every step: an answer that knows nothing of the present token.
/// At the first step the state before it where an output has its shape, else 0. Of an operation whose outputs have no
/// tokens the first axis is that of time.
core::tensors previous_step(const request& call, const core::tensors& outputs);

}  // namespace assay::properties
