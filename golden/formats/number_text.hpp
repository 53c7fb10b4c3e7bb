// Numbers as text that keeps every bit: hexadecimal floats in JSON strings.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay::formats {

/// "0x1.8p+1", "-inf", "nan".
std::string number_text(double x);

/// The whole text as one number, as number_text writes it; decimal numbers are read, too. Nothing where it is no
/// number.
std::optional<double> parse_number(std::string_view text);

}  // namespace assay::formats
