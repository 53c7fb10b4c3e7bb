#include "tools/case_file.hpp"

#include <fmt/format.h>

#include <charconv>

#include "golden/formats/attributes_json.hpp"
#include "golden/formats/json_file.hpp"
#include "golden/formats/number_text.hpp"
#include "reference/oracle.hpp"
#include "tools/formula/formula_source.hpp"

namespace assay::tools {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
constexpr const char* case_schema = "assay-case/1";
constexpr std::uint64_t largest_case = std::uint64_t{64} << 20;

core::result<core::tensor> tensor_from(const std::string& name, const json& j, core::dtype type) {
  if (!j.is_object() || !j.contains("shape") || !j.contains("values") || !j["shape"].is_array() ||
      !j["values"].is_array())
    return core::failure("input '" + name + "' must be an object with the arrays shape and values");
  core::shape shape;
  std::size_t count = 1;
  for (const json& size : j["shape"]) {
    if (!size.is_number_unsigned()) return core::failure("input '" + name + "': a size is no whole number");
    shape.push_back(size.get<std::size_t>());
    if (shape.back() > (std::size_t{1} << 20))
      return core::failure("input '" + name + "': the shape " + core::to_string(shape) + " is too large");
    if (__builtin_mul_overflow(count, shape.back(), &count) || count > (std::size_t{1} << 28))
      return core::failure("input '" + name + "': the shape " + core::to_string(shape) + " is too large");
  }
  if (j["values"].size() != count)
    return core::failure(fmt::format("input '{}': shape {} needs {} values, {} came", name, core::to_string(shape),
                                     count, j["values"].size()));
  std::vector<double> values;
  for (const json& v : j["values"]) {
    const auto x = v.is_string() ? formats::parse_number(v.get<std::string>()) : std::nullopt;
    if (!x)
      return core::failure("input '" + name + "': " + v.dump() + " is no number in a string, such as \"0x1.8p+1\"");
    if (!core::same_value(core::round_to(type, *x), *x))
      return core::failure(fmt::format("input '{}': {} is no value of {}", name, v.dump(), core::name_of(type)));
    values.push_back(*x);
  }
  return core::make_tensor(type, shape, values);
}

core::result<stored_case> case_from(const json& j) {
  for (const char* key : {"schema", "property", "operation", "dtype"})
    if (auto text = formats::text_member(j, key); !text) return tl::make_unexpected(text.error());
  if (j["schema"] != case_schema)
    return core::failure(fmt::format("schema {} instead of \"{}\"", j["schema"].dump(), case_schema));
  if (j.contains("formula") && formula_of_process() == nullptr)
    if (auto ok = add_recorded_formula(j["formula"]); !ok) return tl::make_unexpected(ok.error());
  stored_case c;
  c.checked = properties::find_property(j["property"]);
  if (c.checked == nullptr) return core::failure("unknown property " + j["property"].dump());
  const core::operation* op = reference::find_operation(j["operation"].get<std::string>());
  if (op == nullptr) return core::failure("unknown operation " + j["operation"].dump());
  if (!c.checked->applies(*op))
    return core::failure("property " + j["property"].dump() + " says nothing about " + op->name);
  const auto type = core::dtype_named(j["dtype"].get<std::string>());
  if (!type || !core::is_floating(*type)) return core::failure("unknown dtype " + j["dtype"].dump());
  if (!j.contains("inputs") || !j["inputs"].is_object()) return core::failure("member 'inputs' must be an object");
  c.value.call = {op, *type, {}};
  if (const auto given = j.find("attributes"); given != j.end()) {
    auto attributes = formats::attributes_from(*given);
    if (!attributes) return formats::within("member 'attributes'", attributes.error());
    c.value.call.attributes = std::move(*attributes);
  }
  for (const auto& [name, value] : j["inputs"].items()) {
    const core::tensor_declaration* declared = op->input(name);
    auto t = tensor_from(name, value, declared ? declared->type_in(*type) : *type);
    if (!t) return tl::make_unexpected(t.error());
    c.value.call.inputs.emplace(name, std::move(*t));
  }
  if (auto ok = core::check_attributes(*op, c.value.call.attributes); !ok) return tl::make_unexpected(ok.error());
  c.value.call.attributes = core::completed(*op, c.value.call.attributes);
  if (auto ok = core::check_request(c.value.call); !ok) return tl::make_unexpected(ok.error());
  c.value.family = j.contains("family") && j["family"].is_string() ? j["family"].get<std::string>() : "replayed";
  if (const auto seed = j.find("seed"); seed != j.end() && seed->is_string()) {
    const std::string text = *seed;
    std::from_chars(text.data(), text.data() + text.size(), c.value.seed);
  }
  return c;
}

}  // namespace

ordered_json to_json(const core::tensor& t) {
  ordered_json values = ordered_json::array();
  for (const double x : t.values.storage()) values.push_back(formats::number_text(x));
  return {{"shape", t.shape()}, {"values", std::move(values)}};
}

ordered_json to_json(const core::tensors& all) {
  ordered_json j = ordered_json::object();
  for (const auto& [name, t] : all) j[name] = to_json(t);
  return j;
}

ordered_json to_json(const stored_case& c) {
  ordered_json j{{"schema", case_schema},
                 {"property", c.checked->name},
                 {"operation", c.value.call.operation->name},
                 {"dtype", core::name_of(c.value.call.type)}};
  if (!c.value.call.attributes.empty()) j["attributes"] = formats::to_json(c.value.call.attributes);
  j["family"] = c.value.family;
  j["seed"] = std::to_string(c.value.seed);
  j["inputs"] = to_json(c.value.call.inputs);
  if (json record = formula_record({&c.value.call}); !record.is_null()) j["formula"] = std::move(record);
  return j;
}

core::result<stored_case> read_case(const std::filesystem::path& path) {
  const auto document = formats::read_json_file(path, largest_case);
  if (!document) return tl::make_unexpected(document.error());
  auto c = case_from(document->value);
  if (!c) return core::failure(path.string() + ": " + c.error().message);
  return c;
}

}  // namespace assay::tools
