// Which known names a mistyped one may have meant.
#pragma once

#include <string>
#include <vector>

namespace assay::transports {

/// At most four of the known names, the nearest first; names are as "encoding/operation". A name is near where a third
/// of the written letters changed gives it or what stands behind its "/", or where it holds the written ones.
std::vector<std::string> near_names(const std::string& written, const std::vector<std::string>& known);

}  // namespace assay::transports
