// Mistakes in one step of a formula: edits of a program, and the words for them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reference/formula/program_writer.hpp"

namespace assay::reference::formula {

struct program_edit {
  std::string what;   ///< "minus_as_plus"
  std::string words;  ///< "with a plus", after the name of the step
  /// Writes the replacement of the step; the inputs of `step` are nodes of the edited program.
  std::function<node_id(program_writer& to, const node& step)> replace;
  bool keeps_function = false;  ///< the function itself stays as it is
};

/// The possible mistakes in a step: an operand left out or exchanged, another operator, another number, a condition
/// that is ignored, a position that is one off, a gradient that does not flow. `named` gives the name of an earlier
/// node in the formula; empty where it has none.
std::vector<program_edit> edits_of(const program& p, node_id step, const std::function<std::string(node_id)>& named);

/// The program with an edit of these steps, which are numbers of all_nodes. Each keeps its type. An error where this is
/// not possible.
core::result<program> with_edit(const program& p, const std::vector<std::size_t>& steps, const program_edit& edit);

}  // namespace assay::reference::formula
