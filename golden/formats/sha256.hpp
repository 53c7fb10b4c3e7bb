// SHA-256 (FIPS 180-4), from GNU Nettle.
#pragma once

#include <string>
#include <string_view>

namespace assay::formats {

/// 64 hexadecimal digits in lower case.
std::string sha256(std::string_view bytes);

}  // namespace assay::formats
