// Settings of a call that are no tensors: a base, a layout, the size of a block.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace assay::core {

using attribute = std::variant<bool, std::int64_t, double, std::string>;
using attributes = std::map<std::string, attribute>;

/// As in JSON: true, 64, 0.5, "half-split".
std::string to_string(const attribute& value);
/// "block = 64, mode = "fused"".
std::string to_string(const attributes& all);

}  // namespace assay::core
