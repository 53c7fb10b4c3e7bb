// The operation of a cell of the operation measures, calls of this operation, and what such measures share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/accuracy_class.hpp"
#include "reference/core/operation.hpp"
#include "tools/explore/measure.hpp"

namespace assay::explore {

/// The operation of a cell, with its settings, inputs and formats.
struct cell_operation {
  const core::operation* operation = nullptr;
  core::attributes settings{};
  std::string family{};
  core::dtype type = core::dtype::f32;         ///< dtype of the tensors
  core::precisions formats{core::dtype::f32};  ///< formats of the stages of the formula
  /// The class whose algorithm computes the outputs. Nothing: the formula or a candidate computes them, and the law is
  /// that of one_algorithm.
  std::optional<reference::accuracy_class> algorithm{};
};

/// Parses "alibi/bias,form=key": an operation, followed by settings other than the standard ones, or by a family of
/// inputs other than the mild one. The error says what is wrong.
core::result<cell_operation> operation_from(const std::string& text);

bool has_stage(const core::operation& op, const std::string& name);
bool grows_along_axis(const core::operation& op);
/// The names of the algorithms of an operation: those of its classes, or "formula" if it has one algorithm.
std::vector<std::string> algorithm_names(const core::operation& op);

/// The meaning of the size of an `error` cell: "number of keys", "largest position".
std::string_view size_words(const cell& c);

/// Precondition: check_operation accepts the cell, and its arithmetic and storage formats exist.
cell_operation cell_operation_of(const cell& c);

/// A call with `tokens` tokens and keys, and the width that the cell gives. It has one query if keys have positions. If
/// errors grow with the number of keys, it has as many queries as make at most 16384 pairs with the keys, at least one.
core::request call_of(const cell_operation& requested, const cell& c, std::size_t tokens);

/// The number of positions, or keys, that makes about 8192 numbers: 16 to 256, and at most the size plus 1.
std::size_t rows_of(const cell& c);
/// A call in which the quantity with which errors grow reaches the size of the cell. By operation, it has this number
/// of tokens, this number of keys for the last queries, the last positions or distances up to this size, distances of
/// both signs, or a query at this position with the first keys.
core::request call_growing_to_size(const cell_operation& requested, const cell& c);
/// The number of pairs of tokens, or of queries and keys, in the computation; for a recurrence the number of tokens.
double pairs_in_call(const cell_operation& requested, const cell& c);

/// The outputs of the implementation that the cell names, as numbers of its storage format.
core::result<core::tensors> computed(const cell_operation& requested, const cell& c, const core::request& call,
                                     const caller& outside);

/// The conditions for a cell of any measure of operations.
core::result<void> check_operation(const cell& c);
/// Completes a measure of operations that computes these results. Precondition: m has the rest.
measure operation_measure(measure m, core::result<results> (*found)(const cell_operation&, const cell&, const caller&));

/// The axis along which positions differ: the axis of tokens or of keys.
const std::string& axis_of_places(const core::operation& op, const core::tensor_declaration& positions);

/// Writes place(i) as the position of token or key i, if there is such an input. Along the other axes of the input all
/// values are the same.
template <class Place>
void put(core::request& call, const core::tensor_declaration* input, Place place) {
  if (input == nullptr) return;
  core::tensor& t = call.inputs.at(input->name);
  const std::size_t axis = *core::axis_of(*input, axis_of_places(*call.operation, *input)),
                    stride = core::stride_of(t.shape(), axis);
  std::vector<double> values(t.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = place(static_cast<double>(i / stride % t.shape()[axis]));
  t = core::make_tensor(t.type, t.shape(), values);
}

}  // namespace assay::explore
