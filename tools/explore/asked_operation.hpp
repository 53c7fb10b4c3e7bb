// The operation that a cell of the measures of operations asks for, calls of it, and what such measures share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/accuracy_class.hpp"
#include "reference/core/operation.hpp"
#include "tools/explore/measure.hpp"

namespace assay::explore {

/// What a cell asks of which operation.
struct asked {
  const core::operation* operation = nullptr;
  core::attributes settings{};
  std::string family{};
  core::dtype type = core::dtype::f32;         ///< of the tensors
  core::precisions formats{core::dtype::f32};  ///< of the stages of the formula
  /// The algorithm that this class is named after; nothing: the formula, whose law is that of one_algorithm.
  std::optional<reference::accuracy_class> algorithm{};
};

/// "alibi/bias,form=key": an operation, and behind it settings other than the standard ones, or a family of inputs
/// other than the mild one. An error says what is wrong.
core::result<asked> operation_from(const std::string& text);

bool has_stage(const core::operation& op, const std::string& name);
bool grows_along_axis(const core::operation& op);
/// The names of the algorithms that an operation has: those of its classes, or "formula" where there is one.
std::vector<std::string> algorithm_names(const core::operation& op);

/// What the size of a cell of `error` is: "number of keys", "largest position".
std::string_view size_words(const cell& c);

/// Precondition: the names of the cell are those of an operation, of formats, and of a stage or an algorithm of it.
asked asked_by(const cell& c);

/// A call with so many tokens, keys and, as the cell has it, columns; one query where keys have positions.
core::request call_of(const asked& what, const cell& c, std::size_t tokens);

/// So many positions, or keys, make about 8192 numbers.
std::size_t rows_of(const cell& c);
/// A call in which what errors grow with is the size of the cell: so many tokens, so many keys of the last queries, the
/// last positions up to it, distances of both signs up to it, or a query at it and the first keys.
core::request call_growing_to_size(const asked& what, const cell& c);
/// The pairs of tokens, or of queries and keys, that it computes with; of a recurrence the tokens.
double pairs_in_call(const asked& what, const cell& c);

/// The outputs of the candidate, stage or algorithm that the cell names, as numbers of its storage format.
core::result<core::tensors> computed(const asked& what, const cell& c, const core::request& call,
                                     const caller& outside);

/// What must hold of a cell of any measure of operations.
core::result<void> check_operation(const cell& c);
/// Such a measure, which finds these results. Precondition: m has what is its own.
measure of_operations(measure m, core::result<results> (*found)(const asked&, const cell&, const caller&));

/// The axis along which positions differ: that of tokens or of keys.
const std::string& axis_of_places(const core::operation& op, const core::tensor_declaration& positions);

/// Writes the position of token or key i, place(i), if there is such an input. On several axes it is the same.
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
