// Formulas that are programs, as operations like all others: with a truth, gradients, allowances, and everything that a
// gate does with these.
//
// A C++ author declares an operation, and how its program is recorded for the settings and sizes of a call:
//
//   add_formula_owner(std::make_unique<program_owner>(
//       "mine", summary,
//       std::vector<recorded_operation>{{.declaration = {.name = "mine/bias", ...},
//                                        .record = [](const program_sizes& s) {
//         recording recorder;
//         recorder.output("bias", bias(recorder.input("slope", {s.size("h"), 1, 1}),
//                                      recorder.input("distance", {1, s.size("n"), s.size("m")})));
//         return recorder.finish();
//       }}}));
//
// The program has the inputs and outputs of the declaration: the same numbers of elements, in row-major order, in
// shapes of its own (a parameter [h] may be [h, 1, 1]). Inputs with an integer dtype of their own are integers. The
// gradient is the program that differentiate() makes. Its allowance is that of its terms without their signs: code may
// add them up in any order.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "reference/formula/program.hpp"
#include "reference/formula_owner.hpp"

namespace assay::reference::formula {

/// What a program is recorded for: its exact value, plain arithmetic, or the allowance of plain arithmetic. They differ
/// where a proof needs another form than programs compute, or where a law covers more than one way, which `any_way`
/// computes. The ways of blocks count in addition (blocks.hpp).
enum class purpose { truth, arithmetic, any_way, any_way_of_blocks, law, law_of_blocks };

/// The call for which a program is recorded.
struct program_sizes {
  const core::operation& function;   ///< the function as declared
  const core::attributes& settings;  ///< all settings that the operation declares
  const core::axis_sizes& axes;
  purpose for_what = purpose::truth;
  accuracy_class algorithm = accuracy_class::sequential;  ///< the class whose algorithm it is; sequential: the formula
  std::size_t form = 0;  ///< 0 is the formula; k is the k-th other way (recorded_operation)

  bool is_of_gradient = false;  ///< differentiate() takes the program

  [[nodiscard]] std::size_t size(const std::string& axis) const { return axes.at(axis); }
};

/// The names of the stages, in the order in which a recording numbers them.
std::vector<std::string> stage_names(const core::operation& op);

struct recorded_operation {
  core::operation declaration;
  /// Called from many threads. A contract violation where inputs and outputs are not those of the declaration.
  std::function<program(const program_sizes& sizes)> record;
  std::vector<accuracy_class> algorithms{accuracy_class::sequential};  ///< see declared_operation
  bool is_of_any_steps = false;     ///< a formula of another owner: correct code may have blocks in place of its steps
  std::size_t other_ways = 0;       ///< other ways to compute it, whose roundings are right as well; `record` has them
  std::size_t other_gradients = 0;  ///< further ways, which differ only in the roundings of their gradients

  [[nodiscard]] std::size_t other_ways_of(const core::request& call) const {
    return other_ways + (call.operation->is_forward() ? 0 : other_gradients);
  }
};

/// A call of a recorded operation, or of its gradient, in plain arithmetic: a variant is computed like this.
core::tensors evaluate_recorded(const recorded_operation& r, const core::request& call,
                                const core::precisions& formats);

class program_owner final : public formula_owner {
 public:
  /// Each operation has a vjp where an input is differentiable.
  program_owner(std::string name, core::encoding_summary summary, std::vector<recorded_operation> all);
  ~program_owner() override;

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] const core::encoding_summary& summary() const override { return summary_; }
  [[nodiscard]] const std::vector<declared_operation>& operations() const override { return operations_; }

  [[nodiscard]] rung_outputs enclose_in_doubles(const core::request& call) const override;
  [[nodiscard]] rung_outputs enclose_in_two_doubles(const core::request& call) const override;
  [[nodiscard]] double work_of(const core::request& call) const override;
  [[nodiscard]] rung_outputs enclose(const core::request& call, unsigned digits) const override;
  [[nodiscard]] std::vector<law_outputs> laws(const core::request& call, const std::vector<accuracy_class>& classes,
                                              const core::precisions& compute) const override;
  [[nodiscard]] std::map<std::string, xt::xarray<double>> tangent(const core::request& call,
                                                                  const core::tensors& direction) const override;
  [[nodiscard]] core::tensors evaluate_in(const core::request& call, const core::precisions& formats,
                                          accuracy_class c) const override;

  /// The program of a call; for a gradient, the program of its derivative, whose law is magnitudes_of_terms. A contract
  /// violation where the recorded program is not what the operation declares.
  [[nodiscard]] std::shared_ptr<const program> program_of(const core::request& call, purpose for_what = purpose::truth,
                                                          accuracy_class algorithm = accuracy_class::sequential,
                                                          std::size_t form = 0) const;

 private:
  [[nodiscard]] const recorded_operation& recorded_of(const core::request& call) const;
  [[nodiscard]] law_outputs law(const core::request& call, accuracy_class c, const core::precisions& compute,
                                purpose for_what, std::size_t form) const;
  void narrow(law_outputs& law, const core::request& call, accuracy_class c, const core::precisions& compute) const;
  class known_programs;
  std::string name_;
  core::encoding_summary summary_;
  std::vector<recorded_operation> recorded_;
  std::vector<declared_operation> operations_;
  std::unique_ptr<known_programs> known_;
};

}  // namespace assay::reference::formula
