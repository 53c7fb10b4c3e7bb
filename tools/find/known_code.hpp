// Published code by the names that people know, and the operations that this code computes.
#pragma once

#include <string>
#include <vector>

#include "reference/core/attributes.hpp"

namespace assay::tools {

/// An operation as a model or a kernel computes it. Settings that are not named have their standard values.
struct use_of_operation {
  std::string operation;
  std::vector<std::pair<std::string, core::attribute>> settings;
};

struct known_code {
  std::string kind;                ///< "model", "kernel", "function"
  std::vector<std::string> names;  ///< "Llama 3.1"
  std::string source;              ///< where it was read: repository and file, or paper
  std::vector<use_of_operation> uses;
  std::string note;
};

/// The entries of known_code.toml. Throws if a use is no call of its operation: that is a mistake in the file.
const std::vector<known_code>& all_known_code();
/// The text of the file as compiled in.
const char* known_code_text();

}  // namespace assay::tools
