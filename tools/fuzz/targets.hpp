// Readers of files and messages as functions of arbitrary bytes, for fuzzing: for any bytes a reader gives a result or
// an error. If Assay also writes the format, most targets write an accepted input and read it again: it must be the
// same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::fuzz {

struct target {
  std::string_view name;
  void (*run)(std::string_view bytes);  ///< prints the reason and aborts if a rule is broken
};

/// All targets, in alphabetical order of their names.
const std::vector<target>& targets();
const target* find_target(std::string_view name);

/// Small valid inputs of a target, made from texts in seeds.cpp and from the recipes, golden sets and presets below
/// `source`.
std::vector<std::string> seeds_of(std::string_view target, const std::string& source);

/// Words for mutations: names of operations, tensors, settings, dtypes and members, and numbers at limits.
const std::vector<std::string>& words();

/// This byte separates several files in one input. Valid JSON does not contain it.
inline constexpr char separator = '\x1e';

}  // namespace assay::fuzz
