// Versions of the list of operations.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace assay::core {

/// A version of the list of operations, of their settings with their values, and of the families of special values:
/// "0.2" is the list of Assay 0.2. What a later version adds is asked only of candidates that name it, or that were
/// written for that version: an upgrade fails no candidate that was right before.
struct list_version {
  unsigned major_number = 0, minor_number = 1;
  friend auto operator<=>(const list_version&, const list_version&) = default;
};

inline constexpr list_version first_list{0, 1};
/// The list of this program: the first two numbers of its version.
inline constexpr list_version newest_list{0, 2};

/// "0.2"
std::string to_string(list_version version);
/// Reads two numbers with a point between them. What follows a second point is ignored: "0.2.1" is "0.2". Nothing for
/// other text, and for a version before the first list or after the newest one.
std::optional<list_version> list_version_from(std::string_view text);

}  // namespace assay::core
