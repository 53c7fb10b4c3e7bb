#include "tools/transports/call_message.hpp"

#include <nlohmann/json.hpp>

#include "golden/formats/attributes_json.hpp"
#include "golden/formats/json_file.hpp"
#include "golden/formats/strict_json.hpp"
#include "reference/oracle.hpp"

namespace assay::transports {

core::result<call_message> parse_call(std::string_view line) {
  const auto document = formats::parse_strict_json(line);
  if (!document) return core::failure("byte " + std::to_string(document.error().offset) + ": " + document.error().rule);
  const nlohmann::json& j = document->value;
  if (auto ok = formats::require_members(j, {"id", "operation", "dtype", "attributes", "inputs", "outputs"}); !ok)
    return tl::make_unexpected(ok.error());
  const auto id = formats::count_member(j, "id");
  if (!id) return tl::make_unexpected(id.error());
  for (const char* key : {"operation", "dtype", "inputs", "outputs"})
    if (auto text = formats::text_member(j, key); !text) return tl::make_unexpected(text.error());
  auto attributes = formats::attributes_from(j["attributes"]);
  if (!attributes) return formats::within("member 'attributes'", attributes.error());

  call_message call;
  call.id = *id;
  const std::string operation = j["operation"], type = j["dtype"];
  call.operation = reference::find_operation(operation);
  if (call.operation == nullptr) return core::failure("unknown operation '" + formats::shown(operation) + "'");
  const auto known = core::dtype_named(type);
  if (!known || !core::is_floating(*known)) return core::failure("unknown dtype '" + formats::shown(type) + "'");
  call.type = *known;
  call.attributes = std::move(*attributes);
  call.inputs = j["inputs"];
  call.outputs = j["outputs"];
  return call;
}

std::string call_reply(std::uint64_t id, const tl::expected<void, properties::call_failure>& outcome) {
  nlohmann::ordered_json reply{{"id", id}, {"ok", outcome.has_value()}};
  if (!outcome) {
    const bool unsupported = outcome.error().kind == properties::fault::unsupported;
    if (unsupported) reply["unsupported"] = true;
    reply[unsupported ? "reason" : "error"] = outcome.error().message;
  }
  return reply.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace assay::transports
