#include "tools/judge/requested_call.hpp"

#include <fmt/format.h>

#include "golden/formats/attributes_json.hpp"
#include "golden/formats/json_file.hpp"
#include "golden/formats/safetensors.hpp"
#include "tools/transports/hello.hpp"
#include "tools/transports/message.hpp"
#include "tools/transports/near_names.hpp"

namespace assay::tools {
namespace {

using nlohmann::json;

// The named dtype; without a name that of the first input without a dtype of its own, or f32 if there is none.
core::result<core::dtype> dtype_of(const core::operation& op, const core::tensors& inputs, const std::string& name) {
  if (!name.empty()) {
    const auto type = core::dtype_named(name);
    if (!type || !core::is_floating(*type))
      return core::failure(fmt::format("unknown dtype '{}'; known: f64, f32, f16, bf16", formats::shown(name)));
    return *type;
  }
  for (const core::tensor_declaration& d : op.inputs)
    if (const auto given = inputs.find(d.name); given != inputs.end() && !d.own_type) {
      if (core::is_floating(given->second.type)) return given->second.type;
      return core::failure(fmt::format("input '{}' must be of a floating-point dtype, and is {}", d.name,
                                       core::name_of(given->second.type)));
    }
  return core::dtype::f32;
}

core::result<core::precisions> precisions_from(const core::operation& op, core::dtype type, const json& compute) {
  properties::description about;
  about.operations[op.name] = {type};
  try {
    if (!compute.is_null()) transports::parse_compute({{core::name_of(type), compute}}, about);
  } catch (const transports::malformed& wrong) {
    return core::failure(wrong.rule.substr(wrong.rule.find('.') + 1));  // without "hello.": there is no greeting here
  }
  return about.precisions_of(op, type);
}

core::result<std::optional<reference::accuracy_class>> class_from(const std::string& text) {
  const auto named = reference::accuracy_class_named(text);
  if (named || text.empty()) return named;
  return core::failure("unknown accuracy class '" + formats::shown(text) +
                       "'; known: uniform, sequential, tree, linear, cumsum");
}

}  // namespace

core::result<requested_call> requested_call_from(const requested_words& words) {
  const auto named = transports::operation_named(words.operation);
  if (!named) return tl::make_unexpected(named.error());
  const core::operation* op = *named;
  auto inputs = formats::read_safetensors(words.inputs);
  if (!inputs) return core::failure(inputs.error().message);
  auto settings = formats::declared_attributes_from(*op, words.settings.is_null() ? json::object() : words.settings);
  if (!settings) return tl::make_unexpected(settings.error());
  const auto type = dtype_of(*op, *inputs, words.dtype);
  if (!type) return tl::make_unexpected(type.error());
  auto compute = precisions_from(*op, *type, words.compute);
  if (!compute) return tl::make_unexpected(compute.error());
  const auto within = class_from(words.accuracy_class);
  if (!within) return tl::make_unexpected(within.error());
  requested_call requested{
      {op, *type, std::move(*inputs), std::move(*settings)}, std::move(*compute), *within, words.strict, words.limit};
  if (const auto ok = core::check_request(requested.call); !ok) return tl::make_unexpected(ok.error());
  return requested;
}

core::result<json> settings_from(const std::vector<std::string>& texts, const core::operation* op) {
  const auto is_text = [op](const std::string& name) {
    const core::attribute_declaration* declared = op == nullptr ? nullptr : op->attribute(name);
    return declared != nullptr && std::holds_alternative<std::string>(declared->standard);
  };
  json all = json::object();
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return core::failure("'" + formats::shown(text) + "' must be NAME=VALUE, such as layout=half_split");
    const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
    const json parsed = json::parse(value, nullptr, false);
    all[name] = (parsed.is_number() || parsed.is_boolean()) && !is_text(name) ? parsed : json(value);
  }
  return all;
}

}  // namespace assay::tools
