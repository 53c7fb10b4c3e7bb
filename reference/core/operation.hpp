// Declarations of operations: pure functions from named tensors to named tensors.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reference/core/result.hpp"
#include "reference/core/tensor.hpp"

namespace assay::core {

/// Which values of an input the operation is defined for. NaN and values outside it are not errors:
/// the IEEE-consistent result of the formula is returned for them (unless a strict check is asked for).
struct value_domain {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::max();
  bool minus_infinity = false;  ///< -inf belongs to the domain
  [[nodiscard]] bool contains(double x) const;
};

struct tensor_declaration {
  std::string name;
  std::vector<std::string> axes;  ///< symbols such as "n", or multiples of one such as "2d"
  value_domain domain{};
  bool differentiable = true;
  std::string meaning{};
  /// Prefix-sum forms add it up over time: where a candidate declares it "finite", n max|x| stays below an
  /// eighth of the largest number too.
  bool summed_over_time = false;
};

/// A recurrent operation hands its state on: `state_out` of one chunk is `state_in` of the next.
struct recurrence {
  std::string state_in, state_out;
  std::string time_axis = "n";
};

/// What an operation computes of the function it is named after.
enum class derivative { none, vjp, jvp };

struct operation {
  std::string name;  ///< "<encoding>/<operation>", with ":vjp" or ":jvp" for its derivatives
  std::vector<tensor_declaration> inputs, outputs;
  std::optional<recurrence> recurrent{};
  std::string source{};  ///< paper and equation
  bool has_jvp = false;  ///< a forward operation whose Jacobian-vector product is an operation too

  [[nodiscard]] const tensor_declaration* input(std::string_view name) const;
  [[nodiscard]] const tensor_declaration* output(std::string_view name) const;
  [[nodiscard]] derivative kind() const;
  [[nodiscard]] bool is_forward() const { return kind() == derivative::none; }
  [[nodiscard]] bool is_vjp() const { return kind() == derivative::vjp; }
  /// The name of the function: its own, or that of which it is a derivative.
  [[nodiscard]] std::string forward_name() const { return name.substr(0, name.find(':')); }
};

/// The size of each axis symbol.
using axis_sizes = std::map<std::string, std::size_t>;

/// The vector-Jacobian product of `forward`: its inputs and a `grad_<output>` for each output, to a
/// `grad_<input>` for each differentiable input.
operation vjp_of(const operation& forward);

/// The Jacobian-vector product of `forward`: its inputs and a `tangent_<input>` for each differentiable input,
/// to a `tangent_<output>` for each output.
operation jvp_of(const operation& forward);

/// The symbols of all axes of the inputs, without their factors; those of the outputs are among them.
std::set<std::string> axis_symbols(const operation& op);

/// The shape that a declaration has for these sizes. Precondition: all its symbols are there.
shape shape_of(const tensor_declaration& declaration, const axis_sizes& sizes);

/// The position of an axis symbol in a declaration.
std::optional<std::size_t> axis_of(const tensor_declaration& declaration, std::string_view symbol);

/// The inputs restricted to the given positions of one axis symbol, in every tensor that has it; of a
/// multiple such as "2d", in each of its blocks.
tensors restrict_axis(const operation& op, const tensors& inputs, std::string_view symbol,
                      const std::vector<std::size_t>& positions);

/// The sizes of all axes where the inputs are complete, of dtype `type` and of consistent shapes;
/// otherwise an error that names the tensor, what was expected and what came.
result<axis_sizes> check_inputs(const operation& op, dtype type, const tensors& inputs);

/// The same for outputs, whose sizes the inputs have fixed.
result<void> check_outputs(const operation& op, dtype type, const axis_sizes& sizes, const tensors& outputs);

/// The strict contract: an error that names the first tensor and index outside the declared domain.
result<void> check_domain(const operation& op, const tensors& inputs);

}  // namespace assay::core
