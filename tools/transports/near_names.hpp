// Which known names a mistyped one may have meant.
#pragma once

#include <string>
#include <vector>

#include "reference/core/operation.hpp"

namespace assay::transports {

/// At most four of the known names, the nearest first; names are as "encoding/operation". A name is near where a third
/// of the written letters changed gives it or what stands behind its "/", or where it holds the written ones.
std::vector<std::string> near_names(const std::string& written, const std::vector<std::string>& known);

/// "near: a, b; "; empty where none is near.
std::string near_in_words(const std::string& written, const std::vector<std::string>& known);

/// The operation of that name, or an error that says which are near.
core::result<const core::operation*> operation_named(const std::string& name);

}  // namespace assay::transports
