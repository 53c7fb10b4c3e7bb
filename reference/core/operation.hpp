// Declarations of operations: pure functions from named tensors to named tensors.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/core/attributes.hpp"
#include "reference/core/error_growth.hpp"
#include "reference/core/list_version.hpp"
#include "reference/core/precisions.hpp"
#include "reference/core/result.hpp"
#include "reference/core/roles.hpp"
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

/// The scale that an error of an output is compared with.
enum class error_scale {
  absolute,  ///< max(1, |x|): values that pass through zero by cancellation, where no algorithm keeps their digits
  relative,  ///< |x|: values that are products, powers or sums of one sign
  by_row,    ///< the largest |x| of the last axis: rows that are rotated or averaged as a whole
};

/// A rule for the numbers of an input together, beyond the domain of each.
enum class value_rule {
  none,
  unit,       ///< the Euclidean norm along the last axis is 1, to rounding
  ascending,  ///< the numbers ascend along the last axis; equal ones may follow one another
  offsets,    ///< ascending from 0 to the size of the axis `index_into`: where its parts begin, and where they end
  one_in_each_row,  ///< for truths: at least one is true along the last axis
  as_drawn,         ///< the numbers are those that operation::drawn gives: nothing else is known about them
};

struct tensor_declaration {
  std::string name;
  /// Symbols such as "n", or sizes made from one such as "2d", "s+1", "2s-1", "h*u" (u is a setting); an output may
  /// have "d/2" and "h*w+k" too.
  std::vector<std::string> axes;
  std::string meaning{};
  value_domain domain{};
  bool differentiable = true;
  /// Prefix-sum forms add it up over time. Where a candidate declares it "finite", n max|x| also stays below an eighth
  /// of the largest number.
  bool summed_over_time = false;
  /// Its own dtype, whatever that of the call: i64 for positions and bucket numbers, which are exact.
  std::optional<dtype> own_type{};
  error_scale scale = error_scale::absolute;  ///< for an output
  input_role role = input_role::value;        ///< for an input
  /// For integers: the axis of another input; they are positions along it, counted from 0. Other integers are refused.
  std::string index_into{};
  value_rule rule = value_rule::none;  ///< inputs that break the rule `offsets` are refused

  [[nodiscard]] dtype type_in(dtype dtype_of_call) const { return own_type.value_or(dtype_of_call); }
};

/// A real input that is the same for all rows and tokens: weights, slopes, a table.
tensor_declaration parameter(std::string name, std::vector<std::string> axes, std::string meaning,
                             value_domain domain = {});
/// Exact integers: positions, distances, numbers of buckets.
tensor_declaration integers(std::string name, std::vector<std::string> axes, std::string meaning, value_domain domain,
                            input_role role);

/// Truths.
tensor_declaration truths(std::string name, std::vector<std::string> axes, std::string meaning, input_role role);

/// A setting of an operation: a convention on which implementations differ, or a number of the definition.
struct attribute_declaration {
  std::string name;
  std::string meaning;
  attribute standard;  ///< the value where a call does not set it; every value has its type
  /// For a string or boolean: the only values there are. For a number: the values that tests draw.
  std::vector<attribute> values;
  double low = -std::numeric_limits<double>::infinity();  ///< for a number
  double high = std::numeric_limits<double>::infinity();
  std::string axis{};  ///< the axis symbol whose size it is
  /// The list in which it first appeared. Code that does not know a later setting computes the standard value. It is
  /// asked only of candidates that name it, or were written for that list; files and calls have it where its value is
  /// not the standard one.
  list_version since = first_list;
  /// Values that were added after the setting.
  std::vector<std::pair<attribute, list_version>> later_values{};

  [[nodiscard]] bool is_later() const { return since > first_list; }
  /// The values that code written for a list knows: the standard one alone where the code does not know the setting.
  [[nodiscard]] std::vector<attribute> values_of(list_version known) const;
};

/// A recurrent operation passes its state on: `state_out` of one chunk is `state_in` of the next.
struct recurrence {
  std::string state_in, state_out;
  std::string time_axis = "n";
  std::string states{};  ///< the output that holds the state after every token; empty where none does
  /// The axis of the state along which a step mixes numbers; no step expands the norm along it. Empty where each number
  /// is on its own, and no step expands it.
  std::string mixes_along{};
};

/// Whether an operation computes the function it is named after, or a derivative of it.
enum class derivative { none, vjp, jvp };

/// The parts of an operation's name: the name of the function, and the meaning of the ":vjp" or ":jvp" after it.
struct operation_name {
  explicit operation_name(std::string_view name);
  std::string_view forward;
  derivative kind = derivative::none;
};

struct operation {
  std::string name;      ///< "<encoding>/<operation>", with ":vjp" or ":jvp" for its derivatives
  std::string source{};  ///< paper and equation
  std::vector<tensor_declaration> inputs{}, outputs{};
  std::vector<attribute_declaration> attributes{};
  /// The parts that have a format of their own; empty where none has. Derivatives have the stages of their function.
  std::vector<stage_declaration> stages{};
  std::optional<recurrence> recurrent{};
  /// The quantity that errors grow with; nothing where they do not grow.
  std::optional<error_growth> grows_with{};
  /// Axes along which it is many functions beside one another: no element depends on another position along these axes.
  std::vector<std::string> independent{"B"};
  /// The roles of axes whose symbols mean something else, or nothing, in the rest of the project (roles.hpp).
  std::map<std::string, axis_role> axis_roles{};
  /// The reason why settings and sizes do not go together; empty where they do. There is no function where all go
  /// together.
  std::function<std::string(const core::attributes& settings, const axis_sizes& sizes)> conflict{};
  /// The inputs whose rule is as_drawn; they depend on the sizes. Any numbers where settings and sizes conflict. There
  /// is no function where no input has this rule.
  std::function<core::tensors(dtype type, const core::attributes& settings, const axis_sizes& sizes,
                              std::uint64_t seed)>
      drawn{};

  /// Its inputs are also those of a more usual function. So a function that takes them means this operation only where
  /// a name says so, or where it has a parameter that is a setting of this operation.
  bool named_only = false;

  [[nodiscard]] const tensor_declaration* input(std::string_view name) const;
  [[nodiscard]] const tensor_declaration* output(std::string_view name) const;
  [[nodiscard]] const attribute_declaration* attribute(std::string_view name) const;
  /// The usual formats of code with tensors of `storage`, where nothing else is known: the format of the tensors; for
  /// f16 and bf16 it is f32, except in the stages that are narrow.
  [[nodiscard]] precisions usual_precisions(dtype storage) const;
  [[nodiscard]] bool has_gradient() const;  ///< an input is differentiable
  /// Its errors grow with the same quantity as those of `other`.
  [[nodiscard]] bool grows_as(const error_growth& other) const {
    return grows_with && grows_with->quantity == other.quantity;
  }
  [[nodiscard]] derivative kind() const { return operation_name(name).kind; }
  [[nodiscard]] bool is_forward() const { return kind() == derivative::none; }
  [[nodiscard]] bool is_vjp() const { return kind() == derivative::vjp; }
  /// The name of the function: its own name, or the name of the function whose derivative it is.
  [[nodiscard]] std::string forward_name() const { return std::string(operation_name(name).forward); }
};

/// One call of an operation. Tensors have the dtype `type` where the declaration gives them none of their own.
/// Attributes that are not set have their standard values; those that the operation does not declare are settings
/// of the implementation, which change no result.
struct request {
  const core::operation* operation = nullptr;
  dtype type = dtype::f64;
  tensors inputs;
  core::attributes attributes{};
};

/// The vector-Jacobian product of `forward`: its inputs and a `grad_<output>` for each output, to a
/// `grad_<input>` for each differentiable input.
operation vjp_of(const operation& forward);

/// The Jacobian-vector product of `forward`: its inputs and a `tangent_<input>` for each differentiable input,
/// to a `tangent_<output>` for each output.
operation jvp_of(const operation& forward);

/// The symbols of all axes of the inputs, without their factors, and the symbols whose size is an attribute. The
/// symbols of the outputs are among them.
std::set<std::string> axis_symbols(const operation& op);
/// The symbols whose size is fixed by the inputs, and by no attribute.
std::set<std::string> free_axes(const operation& op);

/// The attribute that is the size of the axis; null where there is none.
const attribute_declaration* attribute_of_axis(const operation& op, std::string_view symbol);

/// The smallest and the largest size of an axis.
struct size_bounds {
  std::size_t low = 1, high = std::size_t{1} << 24;
};

/// The reason why no sizes within these bounds go with the settings; empty where some do. Precondition: all settings
/// are there. Only the bounds are tried: operations refuse a size that is too large or too small for another one.
std::string conflict_within(const operation& op, const core::attributes& settings,
                            const std::map<std::string, size_bounds>& bounds = {});

/// The shape that a declaration has for these sizes. Precondition: all its symbols are there.
shape shape_of(const tensor_declaration& declaration, const axis_sizes& sizes);

/// The scale of the error of every element of an output, by its declaration and its true values, in row-major order.
/// `uniform`, every ulp of a report and horizons are given in units of it. It is never below the smallest normal number
/// of `type`, since a value that underflows has no relative accuracy. Values that are not finite count as 0; in integer
/// dtypes it is 1.
std::vector<double> error_scales(const tensor_declaration& output, dtype type, const shape& s,
                                 std::span<const double> truth);
/// "max(1, |x|)", "|x|" or "the largest |x| of its row".
std::string_view words_for(error_scale scale);

/// The position of an axis symbol in a declaration.
std::optional<std::size_t> axis_of(const tensor_declaration& declaration, std::string_view symbol);

/// The inputs restricted to the given positions of one axis symbol, in every tensor that has it. A multiple such as
/// "2d" is restricted in each of its blocks.
tensors restrict_axis(const operation& op, const tensors& inputs, std::string_view symbol,
                      const std::vector<std::size_t>& positions);

/// The declared attributes, each with the value that is set or else its standard value, and the others as they are.
/// Where a number is wanted, an integer becomes one.
attributes completed(const operation& op, const attributes& set);

/// The attributes without those later settings that have their standard values, so that calls and files stay as before.
attributes without_unasked(const operation& op, attributes set);

/// Nothing where every declared attribute that is set has an allowed value; otherwise an error that names the
/// attribute.
result<void> check_attributes(const operation& op, const attributes& set);

/// Nothing where the operation declares every attribute; otherwise an error that names the first that it does not.
result<void> check_declared(const operation& op, const attributes& set);

/// The sizes of all axes. Where the attributes are wrong, or inputs are missing or have another dtype than declared or
/// inconsistent shapes, an error that names the tensor, what was expected and what came.
result<axis_sizes> check_request(const request& call);

/// The same for outputs, whose sizes the inputs have fixed.
result<void> check_outputs(const operation& op, dtype type, const axis_sizes& sizes, const tensors& outputs);

/// The sizes of all axes of a call that check_request accepts, without checking it again.
axis_sizes sizes_of(const request& call);

/// The strict contract. Nothing where all numbers lie in their domains and all inputs keep their rules; otherwise an
/// error that names the first tensor and index outside its domain, or the tensor that breaks its rule.
result<void> check_domain(const operation& op, const tensors& inputs);

/// Nothing where every input keeps its rule; otherwise an error that names the first input that breaks it. The rules
/// `offsets` and `as_drawn` are not checked here.
result<void> check_rules(const operation& op, const tensors& inputs);

}  // namespace assay::core
