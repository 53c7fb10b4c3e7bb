#include "golden/set_file.hpp"

#include <algorithm>

#include "golden/axes.hpp"
#include "golden/flags.hpp"
#include "golden/formats/attributes_json.hpp"
#include "golden/formats/json_file.hpp"
#include "golden/formats/strict_json.hpp"
#include "golden/proof.hpp"
#include "golden/recipe.hpp"
#include "reference/oracle.hpp"

namespace assay::golden {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
constexpr const char* file_schema = "assay-golden-file/1";

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

json split(const std::string& text) {
  json words = json::array();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

core::result<std::vector<std::string>> words_from(const json& j, const char* key) {
  const json& list = j.at(key);
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), [](const json& word) { return word.is_string(); }))
    return core::failure(std::string(key) + " must be a list of words");
  auto words = list.get<std::vector<std::string>>();
  const auto is_word = [](const std::string& word) {
    return !word.empty() && word.size() <= 100 &&
           std::all_of(word.begin(), word.end(), [](char c) { return c > ' ' && c <= '~'; });
  };
  if (!std::all_of(words.begin(), words.end(), is_word) || !std::is_sorted(words.begin(), words.end()) ||
      std::adjacent_find(words.begin(), words.end()) != words.end())
    return core::failure(std::string(key) + " must be words in alphabetical order, each once");
  return words;
}

}  // namespace

std::string set_file::name() const { return id + "." + std::string(core::name_of(type)) + ".safetensors"; }

std::map<std::string, std::string> roles_of(const core::operation& op, core::dtype type) {
  std::map<std::string, std::string> roles;
  for (const auto& d : op.inputs)
    roles[d.name] = op.is_vjp() && d.name.starts_with("grad_")                             ? "cotangent"
                    : op.kind() == core::derivative::jvp && d.name.starts_with("tangent_") ? "tangent"
                                                                                           : "input";
  for (const auto& d : op.outputs) {
    roles[d.name] = "output";
    for (const std::string& name : names_beside(d.name, d.type_in(type))) roles[name] = "allowance";
    roles[low_name(d.name)] = "low";
  }
  return roles;
}

formats::metadata metadata_of(const set_file& f) {
  return {{"schema", file_schema},
          {"id", f.set + "/" + f.id + "." + std::string(core::name_of(f.type))},
          {"set", f.set},
          {"set_version", std::to_string(f.set_version)},
          {"entry", f.id},
          {"entry_sha256", f.entry_sha256},
          {"operation", f.operation->name},
          {"settings", formats::to_json(f.attributes).dump()},
          {"dtype", std::string(core::name_of(f.type))},
          {"axes", json(f.axes).dump()},
          {"seed", std::to_string(f.seed)},
          {"reason", f.reason},
          {"roles", json(roles_of(*f.operation, f.type)).dump()},
          {"flags", joined(f.flags)},
          {"reveals", joined(f.reveals)},
          {"proof", std::string(proof_method) + ", " + proof_rounding},
          {"program", std::string("assay ") + generator_version},
          {"licence", licence}};
}

core::result<set_file> set_file_from(const formats::metadata& about) {
  json members = json::object();
  for (const auto& [key, as] : {std::pair{"set", "set"},
                                {"entry", "id"},
                                {"entry_sha256", "entry_sha256"},
                                {"operation", "operation"},
                                {"dtype", "dtype"},
                                {"reason", "reason"}}) {
    const auto text = about.find(key);
    if (text == about.end()) return core::failure("metadata '" + std::string(key) + "' is missing");
    members[as] = text->second;
  }
  for (const auto& [key, as] : {std::pair{"settings", "attributes"}, {"axes", "axes"}}) {
    const auto text = about.find(key);
    if (text == about.end()) return core::failure("metadata '" + std::string(key) + "' is missing");
    auto object = formats::parse_strict_json(text->second, {.max_depth = 2});
    if (!object) return core::failure("metadata '" + std::string(key) + "': " + object.error().rule);
    members[as] = std::move(object->value);
  }
  for (const char* key : {"seed", "set_version"}) {
    const auto text = about.find(key);
    if (text == about.end()) return core::failure("metadata '" + std::string(key) + "' is missing");
    auto number = formats::parse_strict_json("{\"n\":" + text->second + "}", {.counts_only = true, .max_depth = 1});
    if (!number || number->value.size() != 1 || !number->value["n"].is_number_unsigned())
      return core::failure("metadata '" + std::string(key) + "' must be an integer from 0 to 2^64 - 1");
    members[key] = number->value["n"];
  }
  for (const char* key : {"flags", "reveals"}) {
    const auto text = about.find(key);
    if (text == about.end()) return core::failure("metadata '" + std::string(key) + "' is missing");
    members[key] = split(text->second);
  }
  auto f = set_file_from(members);
  if (!f) return formats::within("metadata", f.error());
  const formats::metadata expected = metadata_of(*f);
  for (const auto& [key, text] : expected)
    if (const auto came = about.find(key); came == about.end())
      return core::failure("metadata '" + key + "' is missing");
    else if (came->second != text)
      return core::failure("metadata '" + key + "' must be '" + formats::shown(text, 200) + "' but is '" +
                           formats::shown(came->second, 200) + "'");
  for (const auto& [key, text] : about)
    if (!expected.contains(key)) return core::failure("metadata '" + formats::shown(key) + "' is unknown");
  return f;
}

ordered_json to_json(const set_file& f) {
  return {{"set", f.set},
          {"set_version", f.set_version},
          {"id", f.id},
          {"reason", f.reason},
          {"operation", f.operation->name},
          {"attributes", formats::to_json(f.attributes)},
          {"dtype", core::name_of(f.type)},
          {"axes", f.axes},
          {"seed", f.seed},
          {"entry_sha256", f.entry_sha256},
          {"flags", f.flags},
          {"reveals", f.reveals}};
}

core::result<set_file> set_file_from(const json& j) {
  if (auto ok = formats::require_members(j, {"set", "set_version", "id", "reason", "operation", "attributes", "dtype",
                                             "axes", "seed", "entry_sha256", "flags", "reveals"});
      !ok)
    return tl::make_unexpected(ok.error());
  set_file f;
  for (const auto& [key, text] : {std::pair{"set", &f.set}, std::pair{"id", &f.id}, std::pair{"reason", &f.reason}}) {
    auto read = formats::text_member(j, key);
    if (!read) return tl::make_unexpected(read.error());
    *text = std::move(*read);
  }
  if (!is_entry_id(f.set)) return core::failure("set must be lower-case letters, digits, '_' and '-'");
  if (!is_entry_id(f.id)) return core::failure("id must be lower-case letters, digits, '_' and '-'");
  for (const auto& [key, number] : {std::pair{"seed", &f.seed}, std::pair{"set_version", &f.set_version}}) {
    const auto read = formats::count_member(j, key);
    if (!read) return tl::make_unexpected(read.error());
    *number = *read;
  }
  const auto operation = formats::text_member(j, "operation"), type = formats::text_member(j, "dtype");
  if (!operation) return tl::make_unexpected(operation.error());
  if (!type) return tl::make_unexpected(type.error());
  f.operation = reference::find_operation(*operation);
  if (f.operation == nullptr) return core::failure("unknown operation '" + formats::shown(*operation) + "'");
  auto attributes = formats::declared_attributes_from(*f.operation, j.at("attributes"));
  if (!attributes) return formats::within("attributes", attributes.error());
  f.attributes = std::move(*attributes);
  const auto known = core::dtype_named(*type);
  if (!known || !core::is_floating(*known)) return core::failure("unknown dtype '" + formats::shown(*type) + "'");
  f.type = *known;
  auto axes = axes_from(j.at("axes"), *f.operation);
  if (!axes) return formats::within("axes", axes.error());
  f.axes = std::move(*axes);
  auto hash = hash_member(j, "entry_sha256");
  if (!hash) return tl::make_unexpected(hash.error());
  f.entry_sha256 = std::move(*hash);
  for (const auto& [key, words] : {std::pair{"flags", &f.flags}, std::pair{"reveals", &f.reveals}}) {
    auto read = words_from(j, key);
    if (!read) return tl::make_unexpected(read.error());
    *words = std::move(*read);
  }
  return f;
}

core::result<std::string> hash_member(const json& j, const char* key) {
  auto text = formats::text_member(j, key);
  if (!text) return text;
  if (text->size() != 64 || text->find_first_not_of("0123456789abcdef") != std::string::npos)
    return core::failure(std::string(key) + " must be 64 hexadecimal digits in lower case");
  return text;
}

}  // namespace assay::golden
