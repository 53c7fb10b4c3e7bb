// A call of an operation whose formula is a program: its inputs, sizes and settings while the program is recorded.
#pragma once

#include <vector>

#include "reference/core/attributes.hpp"
#include "reference/formula/recorded_encoding.hpp"
#include "reference/kinds/declarations.hpp"

namespace assay::reference {

/// A call whose program is recorded while it is in scope.
class recorded_call {
 public:
  explicit recorded_call(const formula::program_sizes& call)
      : call_(call), recording_(formula::stage_names(call.function)) {}

  /// An input in its declared shape.
  [[nodiscard]] formula::traced operator[](const char* input) const {
    return recording_.input(input, core::shape_of(*call_.function.input(input), call_.axes));
  }
  /// The same for integers.
  [[nodiscard]] formula::traced_integer integers(const char* input) const {
    return recording_.integers(input, core::shape_of(*call_.function.input(input), call_.axes));
  }
  [[nodiscard]] bool has(const char* input) const { return call_.function.input(input) != nullptr; }
  [[nodiscard]] std::size_t size(const char* axis) const { return call_.size(axis); }
  [[nodiscard]] const core::attributes& settings() const { return call_.settings; }
  template <class T>
  [[nodiscard]] const T& setting(const char* name) const {
    return core::setting<T>(call_.settings, name);
  }
  /// A number of the definition.
  [[nodiscard]] formula::traced number(const char* name) const { return formula::setting(setting<double>(name)); }
  /// Whether the program is recorded for proofs.
  [[nodiscard]] bool is_truth() const { return call_.for_what == formula::purpose::truth; }
  /// Whether the program is recorded for its gradient.
  [[nodiscard]] bool is_of_gradient() const { return call_.is_of_gradient; }
  /// Whether it is recorded for the other way to the gradient (recorded_formula::other_gradients).
  [[nodiscard]] bool is_other_gradient() const { return is_of_gradient() && call_.form > 0; }
  /// Finishes the program with its only output, which is repeated along axes that it lacks.
  formula::program finish(const formula::traced& output);
  formula::program finish(const formula::traced_integer& output);
  /// Finishes the program with all outputs, in their order.
  formula::program finish_all(const std::vector<formula::traced>& outputs);

 protected:
  const formula::program_sizes& call_;
  mutable formula::recording recording_;
};

}  // namespace assay::reference
