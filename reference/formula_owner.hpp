// Who has operations and evaluates them: what a look-up by name leads to.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "reference/accuracy_class.hpp"
#include "reference/core/encoding_summary.hpp"
#include "reference/core/operation.hpp"
#include "reference/core/precisions.hpp"
#include "reference/rung_output.hpp"

namespace assay::reference {

/// A formula of somebody else has no answer to a call: it cannot be traced there, or an index points beyond its axis.
struct no_answer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An operation as its owner declares it.
struct declared_operation {
  core::operation declaration;
  /// The classes that have an algorithm and a law of their own, in their order, none of them `uniform`; at least one.
  std::vector<accuracy_class> algorithms;
  running_bound bound = nullptr;
};

/// The law of one class: k for a forward output; for a gradient also its magnitude without cancellation.
struct law_output {
  xt::xarray<double> k, magnitude;
};
using law_outputs = std::map<std::string, law_output>;

/// Operations "NAME/..." and what evaluates them: an encoding of the list, recorded
/// (formula/recorded_encoding.hpp) or compiled (encodings/heinsen.cpp), or formulas that are registered when a program
/// starts (registry.hpp). Calls come from many threads at once, each for an operation that it has; check_request
/// accepts them.
class formula_owner {
 public:
  formula_owner() = default;
  formula_owner(const formula_owner&) = delete;
  formula_owner& operator=(const formula_owner&) = delete;
  virtual ~formula_owner() = default;

  /// Without a slash or a colon.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// As a list of encodings has it.
  [[nodiscard]] virtual const core::encoding_summary& summary() const = 0;
  /// Each function followed by its derivatives. Always the same objects: others keep their addresses.
  [[nodiscard]] virtual const std::vector<declared_operation>& operations() const = 0;

  /// In balls of one double or of two (readings/ball.hpp).
  [[nodiscard]] virtual rung_outputs enclose_in_doubles(const core::request& call) const = 0;
  [[nodiscard]] virtual rung_outputs enclose_in_two_doubles(const core::request& call) const = 0;
  /// Of the truth, in additions: an order of magnitude, known before it begins (formula/work.hpp). 0: nobody waits for
  /// it.
  [[nodiscard]] virtual double work_of(const core::request&) const { return 0.0; }
  /// In intervals of so many decimal digits.
  [[nodiscard]] virtual rung_outputs enclose(const core::request& call, unsigned digits) const = 0;
  /// Of arithmetic in the formats `compute`, for each of the classes, which ascend.
  [[nodiscard]] virtual std::vector<law_outputs> laws(const core::request& call,
                                                      const std::vector<accuracy_class>& classes,
                                                      const core::precisions& compute) const = 0;
  /// Of a forward operation, along a direction.
  [[nodiscard]] virtual std::map<std::string, xt::xarray<double>> tangent(const core::request& call,
                                                                          const core::tensors& direction) const = 0;
  /// The algorithm of a class, that of `sequential` is the formula as written: every operation rounded to the format of
  /// its stage, the outputs to storage once.
  [[nodiscard]] virtual core::tensors evaluate_in(const core::request& call, const core::precisions& formats,
                                                  accuracy_class c) const = 0;
};

}  // namespace assay::reference
