#include "golden/manifest.hpp"

#include <set>

#include "golden/formats/json_file.hpp"
#include "golden/proof.hpp"

namespace assay::golden {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
constexpr const char* manifest_schema = "assay-golden/2";

// The members that are the same for all files, which the manifest has once; and one that only the file itself has:
// mutants come and go without a change of the numbers.
constexpr const char* common[] = {"set", "set_version"};
constexpr const char* file_only_key = "reveals";

ordered_json row_of(const listed_file& listed) {
  const set_file& f = listed.file;
  ordered_json shapes = ordered_json::object(), proofs = ordered_json::object();
  for (const auto* declared : {&f.operation->inputs, &f.operation->outputs})
    for (const auto& d : *declared) shapes[d.name] = core::shape_of(d, f.axes);
  for (const auto& d : f.operation->outputs) proofs[d.name] = {{"rounding", proof_rounding}, {"method", proof_method}};
  ordered_json row = {{"file", f.name()}};
  row.update(to_json(f));
  for (const char* key : common) row.erase(key);
  row.erase(file_only_key);
  row["shapes"] = std::move(shapes);
  row["sha256"] = listed.sha256;
  row["proof"] = std::move(proofs);
  return row;
}

ordered_json to_json(const manifest& m) {
  ordered_json files = ordered_json::array();
  for (const listed_file& f : m.files) files.push_back(row_of(f));
  return {{"schema", manifest_schema},
          {"licence", licence},
          {"set_version", m.version},
          {"recipe", {{"name", m.recipe}, {"sha256", m.recipe_sha256}}},
          {"generator", {{"name", "assay"}, {"version", generator_version}, {"revision", generator_revision}}},
          {"files", std::move(files)}};
}

core::result<listed_file> listed_from(json j, const manifest& m) {
  if (!j.is_object()) return core::failure("must be an object");
  listed_file listed;
  json rest = json::object();
  for (const char* key : {"file", "shapes", "sha256", "proof"}) {
    if (!j.contains(key)) return core::failure("member '" + std::string(key) + "' is missing");
    rest[key] = j.at(key);
    j.erase(key);
  }
  for (const char* key : {common[0], common[1], file_only_key})
    if (j.contains(key)) return core::failure("unknown member '" + std::string(key) + "'");
  j[file_only_key] = json::array();
  j["set"] = m.recipe;
  j["set_version"] = m.version;
  auto f = set_file_from(j);
  if (!f) return tl::make_unexpected(f.error());
  listed.file = std::move(*f);
  auto hash = hash_member(rest, "sha256");
  if (!hash) return tl::make_unexpected(hash.error());
  listed.sha256 = std::move(*hash);
  // The rest follows from these members.
  const json expected = row_of(listed);
  for (const char* key : {"file", "shapes", "proof"})
    if (rest.at(key) != expected.at(key))
      return core::failure(std::string(key) + " must be " + formats::shown(expected.at(key).dump()) + " but is " +
                           formats::shown(rest.at(key).dump()));
  if (j.at("attributes") != expected.at("attributes"))
    return core::failure("attributes must be " + formats::shown(expected.at("attributes").dump()) + " but are " +
                         formats::shown(j.at("attributes").dump()));
  return listed;
}

core::result<manifest> manifest_from(const json& j) {
  if (auto ok = formats::require_members(j, {"schema", "licence", "set_version", "recipe", "generator", "files"}); !ok)
    return tl::make_unexpected(ok.error());
  if (j.at("schema") != manifest_schema)
    return core::failure("schema " + formats::shown(j.at("schema").dump()) + " instead of \"" + manifest_schema + "\"");
  manifest m;
  const json& recipe = j.at("recipe");
  if (auto ok = formats::require_members(recipe, {"name", "sha256"}); !ok) return formats::within("recipe", ok.error());
  auto name = formats::text_member(recipe, "name"), hash = hash_member(recipe, "sha256");
  if (!name) return formats::within("recipe", name.error());
  if (!hash) return formats::within("recipe", hash.error());
  const auto version = formats::count_member(j, "set_version");
  if (!version) return tl::make_unexpected(version.error());
  m.recipe = std::move(*name);
  m.recipe_sha256 = std::move(*hash);
  m.version = *version;
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
    auto f = listed_from(item, m);
    if (!f) return formats::within(where, f.error());
    if (!names.insert(f->file.name()).second) return core::failure(where + ": is there twice");
    m.files.push_back(std::move(*f));
  }
  return m;
}

}  // namespace

// One line for each file, so that a change of a set reads well as a difference of two texts.
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
