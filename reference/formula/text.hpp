// Programs as JSON, "assay-program/1":
//
//   {"schema": "assay-program/1",
//    "nodes": [{"op": "input", "name": "x", "kind": "real", "shape": [2, 3]},
//              {"op": "exp", "in": [0]},
//              {"op": "sum", "in": [1], "axes": [1], "stage": "sums"}],
//    "outputs": [{"name": "y", "node": 2}]}
//
// A node has all attributes of its operator (operators.cpp) and no others; kinds and shapes follow from them. Numbers
// that JSON lacks are "inf", "-inf" and "nan". The text may be hostile: an error names the node, and no text makes the
// reader do more work than its length and the limits of program.hpp allow.
#pragma once

#include <string>
#include <string_view>

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

///     const auto p = formula::read_program(text_of_a_file);
///     if (!p) throw std::runtime_error(p.error().message);
core::result<program> read_program(std::string_view text);
/// The same program gives the same bytes.
///
///     std::ofstream("capped_logit.json") << formula::to_text(p);
std::string to_text(const program& p);

}  // namespace assay::reference::formula
