// Known names that a mistyped name may have meant.
#pragma once

#include <string>
#include <vector>

#include "reference/core/operation.hpp"

namespace assay::transports {

/// Returns at most four of the known names, the nearest first; names may have the form "encoding/operation". A name is
/// near if changes to at most a third of the written letters (rounded up) give the name or the part after its "/", or
/// if it contains the written text of three letters or more.
std::vector<std::string> near_names(const std::string& written, const std::vector<std::string>& known);

/// "near: a, b; "; empty if none is near.
std::string near_in_words(const std::string& written, const std::vector<std::string>& known);

/// The operation of that name, or an error that lists near names.
core::result<const core::operation*> operation_named(const std::string& name);

}  // namespace assay::transports
