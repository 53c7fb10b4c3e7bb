#include "tools/transports/message.hpp"

#include "golden/formats/strict_json.hpp"

namespace assay::transports {

using nlohmann::json;

void require(bool condition, const std::string& rule) {
  if (!condition) throw malformed{rule};
}

const json* member(const json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() ? nullptr : &*it;
}

std::string clean(std::string text, std::size_t longest) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = c == '\n' ? '\n' : ' ';
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0u) == 0x80u) --longest;
  return text.substr(0, longest) + "...";
}

json parse_message(std::string_view line) {
  auto parsed = formats::parse_strict_json(line);
  if (!parsed) throw malformed{"byte " + std::to_string(parsed.error().offset) + ": " + parsed.error().rule};
  return std::move(parsed->value);
}

core::dtype parse_dtype(const json& value, const std::string& where) {
  require(value.is_string(), where + " must name dtypes");
  const auto type = core::dtype_named(value.get_ref<const std::string&>());
  require(type.has_value(), where + ": unknown dtype '" + clean(value.get<std::string>(), 40) + "'");
  return *type;
}

}  // namespace assay::transports
