#include "tools/transports/recorded.hpp"

#include <algorithm>
#include <set>

#include "golden/formats/attributes_json.hpp"
#include "golden/formats/file.hpp"
#include "golden/formats/json_file.hpp"
#include "golden/formats/sha256.hpp"
#include "tools/transports/call_message.hpp"
#include "tools/transports/outputs.hpp"
#include "tools/transports/protocol.hpp"

namespace assay::transports {
namespace {

using properties::call_failure;
using properties::fault;

constexpr std::uint64_t most_case_bytes = std::uint64_t{256} << 20;
constexpr std::uint64_t most_hello_bytes = std::uint64_t{1} << 20;

// The path within the folder, or an error: an exported folder may come from anywhere.
core::result<std::filesystem::path> inside(const std::filesystem::path& folder, const std::string& name) {
  const std::filesystem::path path = name;
  const auto refuse = [&](const std::string& rule) {
    return core::failure("the path '" + formats::shown(name) + "' " + rule);
  };
  if (name.empty() || path.is_absolute()) return refuse("must be relative");
  if (std::any_of(path.begin(), path.end(), [](const auto& part) { return part == ".."; }))
    return refuse("must not have '..'");
  std::error_code failed;
  const auto root = std::filesystem::canonical(folder, failed);
  if (failed) return core::failure(folder.string() + ": " + failed.message());
  const auto parent = std::filesystem::weakly_canonical(folder / path.parent_path(), failed);
  if (failed || std::mismatch(root.begin(), root.end(), parent.begin(), parent.end()).first != root.end())
    return refuse("must not leave the folder");
  return parent / path.filename();
}

}  // namespace

std::string call_identity(const properties::request& call) {
  const auto bytes = formats::safetensors_bytes(call.inputs);
  ASSAY_EXPECTS(bytes.has_value());
  return formats::sha256(call.operation->name + " " + std::string(core::name_of(call.type)) + " " +
                         formats::to_json(core::without_unasked(*call.operation, call.attributes)).dump() + "\n" +
                         *bytes);
}

core::result<std::unique_ptr<recorded_candidate>> recorded_candidate::read(const std::filesystem::path& folder) {
  auto made = std::make_unique<recorded_candidate>();
  made->about_.name = "recorded";
  made->about_.recorded = true;
  made->about_.written_for = core::first_list;
  if (auto ok = made->read_cases(folder); !ok) return tl::make_unexpected(ok.error());
  std::error_code failed;
  if (std::filesystem::exists(std::filesystem::symlink_status(folder / "hello.json", failed))) {
    if (auto ok = made->read_hello(folder); !ok) return tl::make_unexpected(ok.error());
  } else {
    made->offer_answered();
  }
  return made;
}

core::result<void> recorded_candidate::read_cases(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "cases.jsonl";
  const auto text = formats::read_file(path, most_case_bytes);
  if (!text) return tl::make_unexpected(text.error());
  std::size_t number = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    ++number;
    if (auto ok = read_case(folder, line); !ok)
      return formats::within(path.string() + ": line " + std::to_string(number), ok.error());
  }
  if (number == 0) return core::failure(path.string() + ": there are no cases");
  return {};
}

core::result<void> recorded_candidate::read_case(const std::filesystem::path& folder, std::string_view line) {
  auto call = parse_call(line);
  if (!call) return tl::make_unexpected(call.error());
  if (auto ok = core::check_declared(*call->operation, call->attributes); !ok) return ok;
  const auto inputs = inside(folder, call->inputs), outputs = inside(folder, call->outputs);
  for (const auto* path : {&inputs, &outputs})
    if (!*path) return tl::make_unexpected(path->error());
  auto tensors = formats::read_safetensors(*inputs);
  if (!tensors) return tl::make_unexpected(tensors.error());
  const properties::request request{call->operation, call->type, std::move(*tensors), std::move(call->attributes)};
  if (auto ok = core::check_request(request); !ok) return formats::within(call->inputs, ok.error());
  if (!calls_.emplace(call_identity(request), stored_call{call->operation->name, call->type, *outputs}).second)
    return core::failure("an earlier line is the same case");
  return {};
}

core::result<void> recorded_candidate::read_hello(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "hello.json";
  const auto file = formats::read_json_file(path, most_hello_bytes);
  if (!file) return tl::make_unexpected(file.error());
  // The hello object alone, or the whole message as a candidate would send it.
  const auto said = parse_hello(file->value.contains("hello") ? file->text : "{\"hello\":" + file->text + "}");
  if (!said) return formats::within(path.string(), said.error());
  std::map<std::string, std::set<core::dtype>> exported;
  for (const auto& [identity, call] : calls_) exported[call.operation].insert(call.type);
  about_ = *said;
  about_.recorded = true;
  for (auto& [name, dtypes] : about_.operations)
    std::erase_if(dtypes, [&, &types = exported[name]](core::dtype type) { return !types.contains(type); });
  std::erase_if(about_.operations, [](const auto& entry) { return entry.second.empty(); });
  return {};
}

void recorded_candidate::offer_answered() {
  for (const auto& [identity, call] : calls_) {
    std::error_code failed;
    if (about_.offers(call.operation, call.type) || !std::filesystem::exists(call.outputs, failed)) continue;
    about_.operations[call.operation].push_back(call.type);
  }
  properties::leave_later_settings(about_, {});
}

properties::call_result recorded_candidate::evaluate(const properties::request& call) {
  const auto known = calls_.find(call_identity(call));
  if (known == calls_.end())
    return tl::make_unexpected(call_failure{fault::unsupported, "not among the exported cases"});
  return read_outputs(known->second.outputs, call);
}

}  // namespace assay::transports
