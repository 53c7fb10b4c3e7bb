// What people have, by the names that they know it by, and the operations that it is.
#pragma once

#include <string>
#include <vector>

#include "reference/core/attributes.hpp"

namespace assay::tools {

/// An operation as a model or a kernel computes it: the settings that are not the standard ones.
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

/// Of known_code.toml. An exception where a use is no call of its operation: that is a mistake in the file.
const std::vector<known_code>& all_known_code();
/// The file as it was compiled in.
const char* known_code_text();

}  // namespace assay::tools
