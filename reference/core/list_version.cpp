#include "reference/core/list_version.hpp"

#include <fmt/format.h>

#include <charconv>

namespace assay::core {

std::string to_string(list_version version) { return fmt::format("{}.{}", version.major_number, version.minor_number); }

std::optional<list_version> list_version_from(std::string_view text) {
  list_version version;
  const char* const end = text.data() + text.size();
  const auto major_number = std::from_chars(text.data(), end, version.major_number);
  if (major_number.ec != std::errc() || major_number.ptr == end || *major_number.ptr != '.') return std::nullopt;
  const auto minor_number = std::from_chars(major_number.ptr + 1, end, version.minor_number);
  if (minor_number.ec != std::errc() || (minor_number.ptr != end && *minor_number.ptr != '.')) return std::nullopt;
  if (version < first_list || version > newest_list) return std::nullopt;
  return version;
}

}  // namespace assay::core
