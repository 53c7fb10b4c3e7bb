// Tables that the tests of sinusoidal encodings look at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/tests/gating.hpp"

namespace assay::properties::encodings::sinusoidal::testing {

inline constexpr double usual_base = 10000.0;

/// A table of the usual base.
inline core::request table_call(core::dtype type, const std::vector<double>& positions, std::size_t width,
                                const char* first = "sine") {
  return {reference::find_operation("sinusoidal/table"),
          type,
          {{"position", core::make_tensor(core::dtype::i64, {positions.size()}, positions)}},
          {{"width", static_cast<std::int64_t>(width)}, {"first", std::string(first)}}};
}

/// In f64, within a unit of the last place of 1.
inline core::tensor optimized_table(const std::vector<double>& positions, std::size_t width,
                                    const char* first = "sine") {
  return make_builtin("optimized")
      .value()
      ->evaluate(table_call(core::dtype::f64, positions, width, first))
      .value()
      .at("p");
}

}  // namespace assay::properties::encodings::sinusoidal::testing
