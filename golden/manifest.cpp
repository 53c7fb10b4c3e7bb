#include "golden/manifest.hpp"

#include <algorithm>
#include <set>

#include "golden/formats/attributes_json.hpp"
#include "golden/formats/json_file.hpp"
#include "golden/proof.hpp"
#include "golden/recipe.hpp"

namespace assay::golden {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
constexpr const char* schema = "assay-golden/1";
constexpr const char* licence = "CC0-1.0";

ordered_json to_json(const set_file& f) {
  ordered_json shapes = ordered_json::object(), proofs = ordered_json::object();
  for (const auto* declared : {&f.operation->inputs, &f.operation->outputs})
    for (const auto& d : *declared) shapes[d.name] = core::shape_of(d, f.axes);
  for (const auto& d : f.operation->outputs) proofs[d.name] = {{"rounding", proof_rounding}, {"method", proof_method}};
  return {{"file", f.name()},
          {"id", f.id},
          {"reason", f.reason},
          {"operation", f.operation->name},
          {"attributes", formats::to_json(f.attributes)},
          {"dtype", core::name_of(f.type)},
          {"axes", f.axes},
          {"shapes", std::move(shapes)},
          {"seed", f.seed},
          {"sha256", f.sha256},
          {"proof", std::move(proofs)}};
}

ordered_json to_json(const manifest& m) {
  ordered_json files = ordered_json::array();
  for (const set_file& f : m.files) files.push_back(to_json(f));
  return {{"schema", schema},
          {"licence", licence},
          {"recipe", {{"name", m.recipe}, {"sha256", m.recipe_sha256}}},
          {"generator", {{"name", "assay"}, {"revision", generator_revision}}},
          {"files", std::move(files)}};
}

core::result<std::string> hash_member(const json& j) {
  auto text = formats::text_member(j, "sha256");
  if (!text) return text;
  if (text->size() != 64 || text->find_first_not_of("0123456789abcdef") != std::string::npos)
    return core::failure("sha256 must be 64 hexadecimal digits in lower case");
  return text;
}

core::result<core::axis_sizes> axes_from(const json& j, const core::operation& op) {
  core::axis_sizes sizes;
  if (!j.is_object()) return core::failure("axes must be an object");
  for (const auto& [symbol, ignored] : j.items()) {
    const auto size = formats::count_member(j, symbol.c_str());
    if (!size) return formats::within("axes", size.error());
    sizes[symbol] = *size;
  }
  const auto symbols = core::axis_symbols(op);
  if (!std::equal(sizes.begin(), sizes.end(), symbols.begin(), symbols.end(),
                  [](const auto& size, const std::string& symbol) { return size.first == symbol; }))
    return core::failure("axes must be those of " + op.name);
  if (is_too_large(sizes)) return core::failure("axes: the product of the sizes is too large");
  return sizes;
}

core::result<set_file> file_from(const json& j) {
  if (auto ok = formats::require_members(
          j, {"file", "id", "reason", "operation", "attributes", "dtype", "axes", "shapes", "seed", "sha256", "proof"});
      !ok)
    return tl::make_unexpected(ok.error());
  set_file f;
  for (const auto& [key, text] : {std::pair{"id", &f.id}, std::pair{"reason", &f.reason}}) {
    auto read = formats::text_member(j, key);
    if (!read) return tl::make_unexpected(read.error());
    *text = std::move(*read);
  }
  if (!is_entry_id(f.id)) return core::failure("id must be lower-case letters, digits, '_' and '-'");
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
  if (!axes) return tl::make_unexpected(axes.error());
  f.axes = std::move(*axes);
  const auto seed = formats::count_member(j, "seed");
  if (!seed) return tl::make_unexpected(seed.error());
  f.seed = *seed;
  auto hash = hash_member(j);
  if (!hash) return tl::make_unexpected(hash.error());
  f.sha256 = std::move(*hash);
  // The rest follows from these members.
  const json expected = to_json(f);
  for (const char* key : {"file", "attributes", "shapes", "proof"})
    if (j.at(key) != expected.at(key))
      return core::failure(std::string(key) + " must be " + formats::shown(expected.at(key).dump()) + " but is " +
                           formats::shown(j.at(key).dump()));
  return f;
}

core::result<manifest> manifest_from(const json& j) {
  if (auto ok = formats::require_members(j, {"schema", "licence", "recipe", "generator", "files"}); !ok)
    return tl::make_unexpected(ok.error());
  if (j.at("schema") != schema)
    return core::failure("schema " + formats::shown(j.at("schema").dump()) + " instead of \"" + schema + "\"");
  manifest m;
  const json& recipe = j.at("recipe");
  if (auto ok = formats::require_members(recipe, {"name", "sha256"}); !ok) return formats::within("recipe", ok.error());
  auto name = formats::text_member(recipe, "name"), hash = hash_member(recipe);
  if (!name) return formats::within("recipe", name.error());
  if (!hash) return formats::within("recipe", hash.error());
  m.recipe = std::move(*name);
  m.recipe_sha256 = std::move(*hash);
  const json expected = to_json(m);
  for (const char* key : {"licence", "generator"})
    if (j.at(key) != expected.at(key))
      return core::failure(std::string(key) + " must be " + expected.at(key).dump() + " but is " +
                           formats::shown(j.at(key).dump()));
  if (!j.at("files").is_array() || j.at("files").empty())
    return core::failure("files must be a list that is not empty");
  std::set<std::string> names;
  for (const json& item : j.at("files")) {
    const bool named = item.is_object() && item.contains("file") && item.at("file").is_string();
    const std::string where =
        named ? formats::shown(item.at("file").get<std::string>()) : "file " + std::to_string(m.files.size());
    auto f = file_from(item);
    if (!f) return formats::within(where, f.error());
    if (!names.insert(f->name()).second) return core::failure(where + ": is there twice");
    m.files.push_back(std::move(*f));
  }
  return m;
}

}  // namespace

std::string set_file::name() const { return id + "." + std::string(core::name_of(type)) + ".safetensors"; }

// A line for each file, so that a change of a set reads well as a difference of two texts.
std::string manifest_text(const manifest& m) {
  ordered_json whole = to_json(m);
  const ordered_json files = std::move(whole.at("files"));
  whole.erase("files");
  std::string text = "{\n";
  for (const auto& [key, value] : whole.items()) text += ordered_json(key).dump() + ": " + value.dump() + ",\n";
  text += "\"files\": [";
  for (std::size_t i = 0; i < files.size(); ++i) text += (i ? ",\n" : "\n") + files[i].dump();
  return text + "\n]\n}\n";
}

core::result<manifest> read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / manifest_name;
  const auto file = formats::read_json_file(path, largest_manifest);
  if (!file) return tl::make_unexpected(file.error());
  auto m = manifest_from(file->value);
  if (!m) return formats::within(path.string(), m.error());
  if (manifest_text(*m) != file->text)
    return core::failure(path.string() + ": is not written as Assay writes it: was it edited by hand?");
  return m;
}

}  // namespace assay::golden
