// Implementations that ship with Assay, by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/implementation.hpp"

namespace assay::properties {

struct builtin {
  std::string name, summary;
};

/// optimized, reference (the certified truth), sequential, tree, linear, cumsum, then anti/<id>,
/// mutant/<id> and control/<id>.
std::vector<builtin> builtins();

/// Returns an error if there is no implementation of that name.
core::result<std::unique_ptr<implementation>> make_builtin(const std::string& name);

/// Outputs that know nothing of the task. Every check of values must refuse them.
std::vector<variant> anti_oracles();

}  // namespace assay::properties
