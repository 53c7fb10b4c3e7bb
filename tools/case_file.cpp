#include "tools/case_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "golden/file.hpp"
#include "golden/strict_json.hpp"
#include "reference/oracle.hpp"

namespace assay::tools {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
constexpr const char* schema = "assay-case/1";
constexpr std::uint64_t largest_file = std::uint64_t{64} << 20;

std::string hex_float(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  return fmt::format("{:a}", x);
}

// The whole text as one number, as hex_float writes it (decimal is fine too).
std::optional<double> parse_number(const std::string& text) {
  const bool negative = text.starts_with("-");
  std::string_view digits = std::string_view(text).substr(negative ? 1 : 0);
  const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  if (hex) digits.remove_prefix(2);
  if (digits.starts_with("-")) return std::nullopt;
  double x = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), x,
                                             hex ? std::chars_format::hex : std::chars_format::general);
  if (failed != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return negative ? -x : x;
}

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
    const auto x = v.is_string() ? parse_number(v.get<std::string>()) : std::nullopt;
    if (!x)
      return core::failure("input '" + name + "': " + v.dump() + " is no number in a string, such as \"0x1.8p+1\"");
    if (!core::same_value(core::round_to(type, *x), *x))
      return core::failure(fmt::format("input '{}': {} is no value of {}", name, v.dump(), core::name_of(type)));
    values.push_back(*x);
  }
  return core::make_tensor(type, shape, values);
}

core::result<std::string> text_member(const json& j, const char* key) {
  const auto it = j.find(key);
  if (it == j.end() || !it->is_string()) return core::failure(std::string("member '") + key + "' must be a string");
  return it->get<std::string>();
}

core::result<stored_case> case_from(const json& j) {
  for (const char* key : {"schema", "property", "operation", "dtype"})
    if (auto text = text_member(j, key); !text) return tl::make_unexpected(text.error());
  if (j["schema"] != schema)
    return core::failure(fmt::format("schema {} instead of \"{}\"", j["schema"].dump(), schema));
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
  for (const auto& [name, value] : j["inputs"].items()) {
    auto t = tensor_from(name, value, *type);
    if (!t) return tl::make_unexpected(t.error());
    c.value.call.inputs.emplace(name, std::move(*t));
  }
  if (auto ok = core::check_inputs(*op, *type, c.value.call.inputs); !ok) return tl::make_unexpected(ok.error());
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
  for (const double x : t.values.storage()) values.push_back(hex_float(x));
  return {{"shape", t.shape()}, {"values", std::move(values)}};
}

ordered_json to_json(const core::tensors& all) {
  ordered_json j = ordered_json::object();
  for (const auto& [name, t] : all) j[name] = to_json(t);
  return j;
}

ordered_json to_json(const stored_case& c) {
  return {{"schema", schema},
          {"property", c.checked->name},
          {"operation", c.value.call.operation->name},
          {"dtype", core::name_of(c.value.call.type)},
          {"family", c.value.family},
          {"seed", std::to_string(c.value.seed)},
          {"inputs", to_json(c.value.call.inputs)}};
}

core::result<stored_case> read_case(const std::filesystem::path& path) {
  const auto named = [&](const std::string& what) { return core::failure(path.string() + ": " + what); };
  const auto file = golden::regular_file::open(path);
  if (!file) return tl::make_unexpected(file.error());
  if (file->size() > largest_file) return named(fmt::format("{} bytes are more than a case may have", file->size()));
  std::string text(file->size(), '\0');
  if (auto ok = file->read(0, text.data(), text.size()); !ok) return tl::make_unexpected(ok.error());
  const auto document = golden::parse_strict_json(text);
  if (!document) return named(fmt::format("byte {}: {}", document.error().offset, document.error().rule));
  auto c = case_from(document->value);
  if (!c) return named(c.error().message);
  return c;
}

}  // namespace assay::tools
