// Comparisons of whole outputs that are counted: a law that could not have failed has said nothing.
#pragma once

#include <numeric>

#include "properties/laws/settings.hpp"

namespace assay::properties {

/// The indices 0 to size - 1.
inline std::vector<std::size_t> every_index(std::size_t size) {
  std::vector<std::size_t> all(size);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

/// compare_elements, its comparisons counted.
inline std::optional<std::string> compare_counted(comparisons& all, const char* output, const measured_call& expected,
                                                  const std::vector<std::size_t>& from, const measured_call& actual,
                                                  const std::vector<std::size_t>& to) {
  const numbers x(expected, output), y(actual, output);
  for (std::size_t i = 0; i < from.size(); ++i)
    all.agree(x.x[from[i]], y.x[to[i]], x.allowed[from[i]] + y.allowed[to[i]]);
  return compare_elements(output, expected, from, actual, to);
}

/// Of outputs of one shape, element by element.
inline std::optional<std::string> compare_counted(comparisons& all, const char* output, const measured_call& expected,
                                                  const measured_call& actual) {
  const std::vector<std::size_t> every = every_index(expected.outputs.at(output).size());
  return compare_counted(all, output, expected, every, actual, every);
}

}  // namespace assay::properties
