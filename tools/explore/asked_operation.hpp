// The operation that a cell of the measures `error` and `repeats` asks for, and calls of it.
#pragma once

#include <string>

#include "reference/core/operation.hpp"
#include "tools/explore/cell.hpp"

namespace assay::explore {

/// What a cell asks of which operation.
struct asked {
  const core::operation* operation = nullptr;
  core::attributes settings{};
  std::string family{};
  core::dtype type = core::dtype::f32;         ///< of the tensors
  core::precisions formats{core::dtype::f32};  ///< of the stages of the formula
};

/// "alibi/bias,form=key": an operation, and behind it settings other than the standard ones, or a family of inputs
/// other than the mild one. An error says what is wrong.
core::result<asked> operation_from(const std::string& text);

bool has_stage(const core::operation& op, const std::string& name);
bool grows_along_axis(const core::operation& op);

/// Precondition: the names of the cell are those of an operation, of formats, and of a stage of it where it is one.
asked asked_by(const cell& c);

/// A call with so many tokens, keys and, as the cell has it, columns; one query where keys have positions.
core::request call_of(const asked& what, const cell& c, std::size_t tokens);

}  // namespace assay::explore
