#include "golden/formats/json_file.hpp"

#include <algorithm>

#include "golden/formats/file.hpp"
#include "golden/formats/strict_json.hpp"

namespace assay::formats {

core::result<json_file> read_json_file(const std::filesystem::path& path, std::uint64_t most_bytes) {
  auto text = read_file(path, most_bytes);
  if (!text) return tl::make_unexpected(text.error());
  auto document = parse_strict_json(*text);
  if (!document)
    return core::failure(path.string() + ": byte " + std::to_string(document.error().offset) + ": " +
                         document.error().rule);
  return json_file{std::move(*text), std::move(document->value)};
}

core::result<void> require_members(const nlohmann::json& j, std::initializer_list<std::string_view> required,
                                   std::initializer_list<std::string_view> optional) {
  if (!j.is_object()) return core::failure("must be an object");
  for (const std::string_view key : required)
    if (!j.contains(std::string(key))) return core::failure("member '" + std::string(key) + "' is missing");
  for (const auto& [key, ignored] : j.items())
    if (std::find(required.begin(), required.end(), key) == required.end() &&
        std::find(optional.begin(), optional.end(), key) == optional.end())
      return core::failure("unknown member '" + shown(key) + "'");
  return {};
}

core::result<std::string> text_member(const nlohmann::json& j, const char* key) {
  const auto value = j.find(key);
  if (value == j.end() || !value->is_string())
    return core::failure("member '" + std::string(key) + "' must be a string");
  return value->get<std::string>();
}

core::result<std::uint64_t> count_member(const nlohmann::json& j, const char* key) {
  const auto value = j.find(key);
  if (value == j.end() || !value->is_number_unsigned())
    return core::failure("member '" + std::string(key) + "' must be an integer from 0 to 2^64 - 1");
  return value->get<std::uint64_t>();
}

std::string shown(std::string_view text, std::size_t most) {
  std::string clean;
  for (const char c : text.substr(0, most)) clean += c >= ' ' && c <= '~' ? c : '?';
  return clean + (text.size() > most ? "..." : "");
}

tl::unexpected<core::error> within(std::string_view where, const core::error& e) {
  return core::failure(std::string(where) + ": " + e.message);
}

}  // namespace assay::formats
