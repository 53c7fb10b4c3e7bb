#include "golden/formats/number_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace assay::formats {

std::string number_text(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  return fmt::format("{:a}", x);
}

std::optional<double> parse_number(std::string_view text) {
  const bool negative = text.starts_with("-");
  std::string_view digits = text.substr(negative ? 1 : 0);
  const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  if (hex) digits.remove_prefix(2);
  if (digits.starts_with("-")) return std::nullopt;
  double x = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), x,
                                             hex ? std::chars_format::hex : std::chars_format::general);
  if (failed != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return negative ? -x : x;
}

}  // namespace assay::formats
