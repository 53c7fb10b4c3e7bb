// A cell: one point of a sweep's grid. Equal cells give equal results.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "reference/core/result.hpp"

namespace assay::explore {

/// The measure says which axes count and what they mean (measure.hpp).
struct cell {
  std::string measure, implementation;
  std::string arithmetic = "f32";  ///< every operation is rounded to this format
  std::string storage = "f32";     ///< format of inputs and of results written to memory
  std::string family;              ///< family of inputs
  double decay = 0, scale = 1;
  std::uint64_t size = 0;  ///< number of tokens or keys, or a position or distance
  std::uint64_t seed = 1;
  friend bool operator==(const cell&, const cell&) = default;
};

/// One line that read_cell reads; only equal cells have equal lines: "scan cumsum f32 f32 gates decay=0 scale=1
/// size=4096 seed=1". If there is no family, two spaces stand in its place.
std::string text_of(const cell& c);
/// The error says what is wrong with the line. One space is enough. The names are not looked up here.
core::result<cell> read_cell(const std::string& text);

/// The measured results, by name. NaN stands for a result that the cell does not have.
using results = std::map<std::string, double>;

}  // namespace assay::explore
