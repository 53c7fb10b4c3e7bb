#include "golden/formats/attributes_json.hpp"

#include <limits>

#include "golden/formats/json_file.hpp"

namespace assay::formats {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json to_json(const core::attribute& value) {
  return std::visit([](const auto& x) { return ordered_json(x); }, value);
}

ordered_json to_json(const core::attributes& all) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, value] : all) object[name] = to_json(value);
  return object;
}

core::result<core::attribute> attribute_from(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return core::failure(value.dump() + " is above the largest 64-bit integer");
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  return core::failure(shown(value.dump()) + " is no number, string or boolean");
}

core::result<core::attributes> attributes_from(const json& object) {
  if (!object.is_object()) return core::failure("must be an object");
  core::attributes all;
  for (const auto& [name, value] : object.items()) {
    auto read = attribute_from(value);
    if (!read) return within("'" + shown(name) + "'", read.error());
    all.emplace(name, std::move(*read));
  }
  return all;
}

core::result<core::attributes> declared_attributes_from(const core::operation& op, const json& object) {
  const auto set = attributes_from(object);
  if (!set) return set;
  if (auto ok = core::check_declared(op, *set); !ok) return tl::make_unexpected(ok.error());
  if (auto ok = core::check_attributes(op, *set); !ok) return tl::make_unexpected(ok.error());
  return core::without_unasked(op, core::completed(op, *set));
}

}  // namespace assay::formats
