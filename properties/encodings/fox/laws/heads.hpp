// What the laws of the decay share: the heads of a case, and the places of their gates and pairs.
#pragma once

#include "properties/laws/relations/relations.hpp"

namespace assay::properties::encodings::fox {

inline const char* gate_name(const core::operation& op) { return op.input("g") ? "g" : "log_f"; }

/// One head of one row: the elements of a case and of its output.
struct head {
  std::size_t row, index, tokens, heads;
  [[nodiscard]] std::size_t gate(std::size_t i) const { return (row * tokens + i) * heads + index; }
  [[nodiscard]] std::size_t pair(std::size_t i, std::size_t j) const {
    return ((row * heads + index) * tokens + i) * tokens + j;
  }
};

inline std::vector<head> heads_of(const test_case& c) {
  const core::shape gates = c.call.inputs.at(gate_name(*c.call.operation)).shape();
  std::vector<head> all;
  for (std::size_t row = 0; row < gates[0]; ++row)
    for (std::size_t k = 0; k < gates[2]; ++k) all.push_back({row, k, gates[1], gates[2]});
  return all;
}

/// The families whose numbers are none of them NaN, and whose exponentials stay within the dtypes.
inline const std::vector<std::string> families_without_nan{"mild",          "gates_near_one", "gates_near_zero",
                                                           "constant_gate", "no_decay",       "infinite_inside",
                                                           "wide",          "block_half_life"};

inline law_scope of(std::vector<std::string> operations) { return {std::move(operations), families_without_nan}; }

/// The case with other forget gates.
inline test_case with_gates(const test_case& c, core::tensor gates) {
  test_case other = c;
  other.call.inputs.at(gate_name(*c.call.operation)) = std::move(gates);
  return other;
}

}  // namespace assay::properties::encodings::fox
