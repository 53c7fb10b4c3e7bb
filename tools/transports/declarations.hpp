// The declarations of all operations as JSON, for adapters in other languages.
#pragma once

#include <string>

namespace assay::transports {

/// [{"name": "heinsen/scan", "inputs": [{"name": "log_p", "axes": ["B", "n", "d"]}, ...], "outputs": [...]}, ...],
/// derivatives among them, on one line.
std::string declarations_json();

}  // namespace assay::transports
