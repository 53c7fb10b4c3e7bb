// The readers of foreign bytes as functions of arbitrary bytes, for fuzzing: for any bytes a reader gives a result or
// an error. An accepted input is written and read again, and must be the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::fuzz {

struct target {
  std::string_view name;
  void (*run)(std::string_view bytes);  ///< prints the reason and aborts if a rule is broken
};

/// In alphabetical order of their names.
const std::vector<target>& targets();
const target* find_target(std::string_view name);

/// Small valid inputs of a target, made from the committed recipes, golden sets and presets below `source`.
std::vector<std::string> seeds_of(std::string_view target, const std::string& source);

/// Names that the readers know: of operations, tensors, settings, dtypes, members.
const std::vector<std::string>& words();

/// Several files in one input are separated by this byte, which stands in no valid JSON and no text.
inline constexpr char separator = '\x1e';

}  // namespace assay::fuzz
