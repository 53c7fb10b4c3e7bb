// JSON files that are not trusted, and the members that an object must have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "reference/core/result.hpp"

namespace assay::formats {

struct json_file {
  std::string text;
  nlohmann::json value;
};

/// A file with one JSON object, read strictly (see strict_json.hpp). The error names the file; where the JSON is wrong
/// it also names the byte and the rule.
core::result<json_file> read_json_file(const std::filesystem::path& path, std::uint64_t most_bytes);

/// An error where `j` is no object, lacks a member of `required`, or has a member that is in neither list.
core::result<void> require_members(const nlohmann::json& j, std::initializer_list<std::string_view> required,
                                   std::initializer_list<std::string_view> optional = {});

/// A member of an object that must be there and be a string, or an integer from 0 to 2^64 - 1.
core::result<std::string> text_member(const nlohmann::json& j, const char* key);
core::result<std::uint64_t> count_member(const nlohmann::json& j, const char* key);

/// Text from a file in a form that is safe on a terminal: printable ASCII, shortened.
std::string shown(std::string_view text, std::size_t most = 60);

/// The same error with `where: ` before it.
tl::unexpected<core::error> within(std::string_view where, const core::error& e);

}  // namespace assay::formats
