#include "tools/transports/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "golden/formats/attributes_json.hpp"
#include "tools/transports/hello.hpp"
#include "tools/transports/message.hpp"

namespace assay::transports {
namespace {

using nlohmann::json;

constexpr std::size_t longest_reason = 4000;

void parse_operations(const json& value, properties::description& to) {
  require(value.is_object(), "hello.operations must be an object");
  for (const auto& [name, dtypes] : value.items()) {
    const std::string where = "hello.operations['" + clean(name, 80) + "']";
    require(dtypes.is_array() && !dtypes.empty(), where + " must be an array of dtypes");
    auto& types = to.operations[name];
    for (const json& entry : dtypes) {
      const core::dtype type = parse_dtype(entry, where);
      require(std::find(types.begin(), types.end(), type) == types.end(), where + " names a dtype twice");
      types.push_back(type);
    }
  }
  require(!to.operations.empty(), "hello.operations must offer an operation");
}

void parse_variants(const json& value, properties::description& to) {
  require(value.is_object(), "hello.variants must be an object");
  // They are sent back unchanged and appear in messages: so they must not need cleaning.
  const auto is_short_and_printable = [](const std::string& text) {
    return text.find('\n') == std::string::npos && clean(text, 80) == text;
  };
  const std::string rule = "hello.variants: names and strings must be printable and at most 80 bytes long";
  for (const auto& [name, values] : value.items()) {
    require(is_short_and_printable(name), rule);
    require(values.is_array() && !values.empty(), "hello.variants must hold arrays of values");
    for (const json& entry : values) {
      const auto read = formats::attribute_from(entry);
      require(read.has_value(), "hello.variants: " + (read ? "" : read.error().message));
      const auto* text = std::get_if<std::string>(&*read);
      require(text == nullptr || is_short_and_printable(*text), rule);
      to.variants[name].push_back(*read);
    }
  }
}

bool parse_flag(const json& value, const char* name) {
  require(value.is_boolean(), std::string("hello.") + name + " must be true or false");
  return value.get<bool>();
}

// The operations that take empty axes; only offered operations may be named.
void parse_empty(const json& value, properties::description& to) {
  require(value.is_array(), "hello.properties.empty must be an array of operations");
  for (const json& entry : value) {
    require(entry.is_string() && to.operations.contains(entry.get_ref<const std::string&>()),
            "hello.properties.empty: " + clean(entry.dump(), 80) + " is no operation that is offered");
    to.takes_empty.push_back(entry.get<std::string>());
  }
}

properties::description parse_hello_object(const json& greeting) {
  require(greeting.is_object(), "hello must be an object");
  const json* protocol = member(greeting, "protocol");
  require(protocol != nullptr && protocol->is_number_unsigned() && *protocol == 1u, "hello.protocol must be 1");
  properties::description answer;
  const json* name = member(greeting, "name");
  require(name != nullptr && name->is_string() && !name->get_ref<const std::string&>().empty(),
          "hello.name must be a string that is not empty");
  answer.name = clean(name->get<std::string>(), 200);
  if (const json* version = member(greeting, "version")) {
    require(version->is_string(), "hello.version must be a string");
    answer.version = clean(version->get<std::string>(), 200);
  }
  answer.written_for = core::first_list;
  if (const json* list = member(greeting, "written_for")) {
    const auto known = list->is_string() ? core::list_version_from(list->get<std::string>()) : std::nullopt;
    require(known.has_value(), fmt::format("hello.written_for must be a version of Assay from \"{}\" to \"{}\"",
                                           to_string(core::first_list), to_string(core::newest_list)));
    answer.written_for = *known;
  }
  const json* operations = member(greeting, "operations");
  require(operations != nullptr, "hello.operations is missing");
  parse_operations(*operations, answer);
  if (const json* compute = member(greeting, "compute")) parse_compute(*compute, answer);
  if (const json* domain = member(greeting, "domain")) parse_domains(*domain, answer);
  std::map<std::string, std::vector<std::string>> named;
  if (const json* parameters = member(greeting, "parameters")) named = parse_parameters(*parameters, answer);
  properties::leave_later_settings(answer, named);
  if (const json* variants = member(greeting, "variants")) parse_variants(*variants, answer);
  if (const json* flush = member(greeting, "flush_subnormals"))
    answer.flush_subnormals = parse_flag(*flush, "flush_subnormals");
  if (const json* claims = member(greeting, "properties")) {
    require(claims->is_object(), "hello.properties must be an object");
    if (const json* deterministic = member(*claims, "deterministic"))
      answer.deterministic = parse_flag(*deterministic, "properties.deterministic");
    if (const json* empty = member(*claims, "empty")) parse_empty(*empty, answer);
    if (const json* relayed = member(*claims, "relayed")) answer.relayed = parse_flag(*relayed, "properties.relayed");
  }
  return answer;
}

}  // namespace

std::string hello_request() { return "{\"hello\":{\"protocol\":1}}\n"; }

std::string call_request(std::uint64_t id, const properties::request& call, const std::filesystem::path& inputs,
                         const std::filesystem::path& outputs) {
  return call_request(id, call, core::without_unasked(*call.operation, call.attributes), inputs, outputs);
}

std::string call_request(std::uint64_t id, const properties::request& call, const core::attributes& attributes,
                         const std::filesystem::path& inputs, const std::filesystem::path& outputs) {
  nlohmann::ordered_json message{{"id", id},
                                 {"operation", call.operation->name},
                                 {"dtype", core::name_of(call.type)},
                                 {"attributes", formats::to_json(attributes)},
                                 {"inputs", inputs.string()},
                                 {"outputs", outputs.string()}};
  return message.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

core::result<properties::description> parse_hello(std::string_view line) {
  try {
    const json message = parse_message(line);
    const json* greeting = member(message, "hello");
    require(greeting != nullptr, "must have the member 'hello'");
    return parse_hello_object(*greeting);
  } catch (const malformed& e) {
    return core::failure(e.rule);
  }
}

std::optional<std::string> parse_refusal(std::string_view line) {
  try {
    const json message = parse_message(line);
    const json* reason = member(message, "error");
    if (message.contains("hello") || reason == nullptr || !reason->is_string()) return std::nullopt;
    return clean(reason->get<std::string>(), longest_reason);
  } catch (const malformed&) {
    return std::nullopt;
  }
}

core::result<reply> parse_reply(std::string_view line) {
  try {
    const json message = parse_message(line);
    reply answer;
    const json* id = member(message, "id");
    require(id != nullptr && id->is_number_unsigned(), "id must be a non-negative integer");
    answer.id = id->get<std::uint64_t>();
    const json* ok = member(message, "ok");
    require(ok != nullptr && ok->is_boolean(), "ok must be true or false");
    answer.ok = ok->get<bool>();
    if (answer.ok) return answer;
    if (const json* unsupported = member(message, "unsupported")) {
      require(unsupported->is_boolean(), "unsupported must be true or false");
      answer.unsupported = unsupported->get<bool>();
    }
    const json* text = member(message, answer.unsupported ? "reason" : "error");
    require(text == nullptr || text->is_string(), "reason and error must be strings");
    require(answer.unsupported || text != nullptr, "an answer that is not ok must be unsupported or have an error");
    if (text != nullptr) answer.text = clean(text->get<std::string>(), longest_reason);
    return answer;
  } catch (const malformed& e) {
    return core::failure(e.rule);
  }
}

}  // namespace assay::transports
