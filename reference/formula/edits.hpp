// What goes wrong with one step of a formula: edits of a program, and how each reads.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reference/formula/program_writer.hpp"

namespace assay::reference::formula {

struct program_edit {
  std::string what;   ///< "minus_as_plus"
  std::string words;  ///< "with a plus", behind what the step is called
  /// What stands in place of the step, of which the inputs are those of the edited program.
  std::function<node_id(program_writer& to, const node& step)> replace;
  bool of_gradients = false;  ///< the function itself stays as it is
};

/// What can go wrong with a step: an operand left out or exchanged, another operator in its place, a number that is
/// another one, a condition that is not heeded, a position that is one off, a gradient that does not flow. `named` says
/// what the formula calls an earlier node; empty where it has no name.
std::vector<program_edit> edits_of(const program& p, node_id step, const std::function<std::string(node_id)>& named);

/// The program with an edit of these steps, numbers of all_nodes, each of which keeps its type. An error where it
/// cannot be made.
core::result<program> with_edit(const program& p, const std::vector<std::size_t>& steps, const program_edit& edit);

}  // namespace assay::reference::formula
