// The owners of operations, which evaluate them. A look-up by name leads to an owner.
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

/// A formula of another owner has no answer to a call: the formula cannot be traced there, or an index points beyond
/// its axis.
struct no_answer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An operation as its owner declares it.
struct declared_operation {
  core::operation declaration;
  /// The classes that have an algorithm and a law of their own, in ascending order: at least one, and never `uniform`.
  std::vector<accuracy_class> algorithms;
  running_bound bound = nullptr;
};

/// The law of one class: k for a forward output. A gradient also has its magnitude without cancellation.
struct law_output {
  xt::xarray<double> k, magnitude;
};
using law_outputs = std::map<std::string, law_output>;

/// Operations "NAME/..." and the code that evaluates them: an encoding of the list, recorded
/// (formula/recorded_encoding.hpp) or compiled (encodings/heinsen.cpp), or formulas that are registered when a program
/// starts (registry.hpp). Calls come from many threads at once. Each call is for an operation of this owner, and
/// check_request accepts it.
class formula_owner {
 public:
  formula_owner() = default;
  formula_owner(const formula_owner&) = delete;
  formula_owner& operator=(const formula_owner&) = delete;
  virtual ~formula_owner() = default;

  /// The name, without a slash or a colon.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The summary as a list of encodings shows it.
  [[nodiscard]] virtual const core::encoding_summary& summary() const = 0;
  /// Each function followed by its derivatives. Always the same objects: other code keeps their addresses.
  [[nodiscard]] virtual const std::vector<declared_operation>& operations() const = 0;

  /// Encloses the outputs in balls of one double or of two (readings/ball.hpp).
  [[nodiscard]] virtual rung_outputs enclose_in_doubles(const core::request& call) const = 0;
  [[nodiscard]] virtual rung_outputs enclose_in_two_doubles(const core::request& call) const = 0;
  /// The work for the truth, in additions: an order of magnitude, known before the computation begins
  /// (formula/work.hpp). 0 means that nobody waits for it.
  [[nodiscard]] virtual double work_of(const core::request&) const { return 0.0; }
  /// Encloses the outputs in intervals of `digits` decimal digits.
  [[nodiscard]] virtual rung_outputs enclose(const core::request& call, unsigned digits) const = 0;
  /// The laws of arithmetic in the formats `compute`, one for each of the classes. Precondition: the classes ascend.
  [[nodiscard]] virtual std::vector<law_outputs> laws(const core::request& call,
                                                      const std::vector<accuracy_class>& classes,
                                                      const core::precisions& compute) const = 0;
  /// The derivative of a forward operation along a direction.
  [[nodiscard]] virtual std::map<std::string, xt::xarray<double>> tangent(const core::request& call,
                                                                          const core::tensors& direction) const = 0;
  /// Runs the algorithm of a class; for `sequential` it is the formula as written. Every operation is rounded to the
  /// format of its stage, and the outputs are rounded to storage once.
  [[nodiscard]] virtual core::tensors evaluate_in(const core::request& call, const core::precisions& formats,
                                                  accuracy_class c) const = 0;
};

}  // namespace assay::reference
