#include "reference/core/list_version.hpp"

#include <fmt/format.h>

#include <charconv>

namespace assay::core {

std::string to_string(list_version version) { return fmt::format("{}.{}", version.of_major, version.of_minor); }

std::optional<list_version> list_version_from(std::string_view text) {
  list_version version;
  const char* const end = text.data() + text.size();
  const auto of_major = std::from_chars(text.data(), end, version.of_major);
  if (of_major.ec != std::errc() || of_major.ptr == end || *of_major.ptr != '.') return std::nullopt;
  const auto of_minor = std::from_chars(of_major.ptr + 1, end, version.of_minor);
  if (of_minor.ec != std::errc() || (of_minor.ptr != end && *of_minor.ptr != '.')) return std::nullopt;
  if (version < first_list || version > newest_list) return std::nullopt;
  return version;
}

}  // namespace assay::core
