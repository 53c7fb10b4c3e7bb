// The operators of programs in formulas for readers (mathematics.hpp).
#pragma once

#include <string>
#include <vector>

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// How tightly the outermost operator of a text binds.
enum class binding { in_stage, choice, either_one, both, negation, comparison, sum, product, sign, power, whole };

struct expression {
  std::string text;
  binding outermost = binding::whole;
  [[nodiscard]] std::string at_least(binding least) const { return outermost < least ? "(" + text + ")" : text; }
  [[nodiscard]] std::string above(binding most) const { return outermost <= most ? "(" + text + ")" : text; }
};

inline constexpr std::size_t most_shown_inputs = 16;

/// A name of letters, digits and _ alone is shown as it is.
std::string shown_name(const std::string& name);
/// "q[n,d]"
std::string indexed(const expression& x, const std::string& letters);
expression shown_leaf(const node& n);
/// For inputs beyond most_shown_inputs only the number matters.
expression shown_operator(const node& n, const std::vector<expression>& in);

}  // namespace assay::reference::formula
