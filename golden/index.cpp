#include "golden/index.hpp"

#include <algorithm>
#include <set>

#include "golden/formats/attributes_json.hpp"
#include "golden/formats/file.hpp"
#include "golden/formats/json_file.hpp"
#include "golden/formats/sha256.hpp"

namespace assay::golden {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;
constexpr const char* index_schema = "assay-golden-index/1";

// Names, dtypes, shapes and bits of the tensors of a file, without its allowances.
core::result<std::string> values_of(const golden_file& file) {
  std::string text = file.about.name() + "\n";
  const auto roles = roles_of(*file.about.operation, file.about.type);
  for (const auto& [name, t] : file.tensors) {
    if (roles.at(name) == "allowance") continue;
    auto bytes = formats::tensor_bytes(t);
    if (!bytes) return bytes;
    text += name + " " + std::string(core::name_of(t.type)) + " " + core::to_string(t.shape()) + "\n" + *bytes;
  }
  return text;
}

core::result<void> add_set(const fs::path& folder, ordered_json& sets, ordered_json& files) {
  const auto m = read_manifest(folder);
  if (!m) return tl::make_unexpected(m.error());
  if (m->recipe != folder.filename().string())
    return core::failure(folder.string() + ": is the set '" + formats::shown(m->recipe) + "' by its manifest");
  std::string values;
  std::uint64_t all_bytes = 0, elements = 0;
  for (const listed_file& listed : m->files) {
    const fs::path path = folder / listed.file.name();
    const auto bytes = formats::read_file(path, set_limits.file_bytes);
    if (!bytes) return tl::make_unexpected(bytes.error());
    const auto file = golden_file_from(*bytes, path);
    if (!file) return tl::make_unexpected(file.error());
    const auto file_values = values_of(*file);
    if (!file_values) return tl::make_unexpected(file_values.error());
    values += formats::sha256(*file_values);
    all_bytes += bytes->size();
    for (const auto& d : file->about.operation->outputs) elements += file->tensors.at(d.name).size();
    files.push_back({{"file", folder.filename().string() + "/" + listed.file.name()},
                     {"operation", listed.file.operation->name},
                     {"settings", formats::to_json(listed.file.attributes)},
                     {"dtype", core::name_of(listed.file.type)},
                     {"axes", listed.file.axes},
                     {"flags", listed.file.flags},
                     {"sha256", listed.sha256}});
  }
  sets.push_back({{"name", m->recipe},
                  {"version", m->version},
                  {"recipe_sha256", m->recipe_sha256},
                  {"values_sha256", formats::sha256(values)},
                  {"files", m->files.size()},
                  {"elements", elements},
                  {"bytes", all_bytes}});
  return {};
}

std::string lines_of(const char* name, const ordered_json& list) {
  std::string text = std::string("\"") + name + "\": [";
  for (std::size_t i = 0; i < list.size(); ++i) text += (i ? ",\n" : "\n") + list[i].dump();
  return text + "\n]";
}

}  // namespace

std::vector<fs::path> sets_in(const fs::path& folder) {
  std::set<fs::path> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed))
    if (fs::is_directory(entry.symlink_status(failed))) found.insert(entry.path());
  return {found.begin(), found.end()};
}

core::result<std::string> index_text(const fs::path& folder) {
  ordered_json sets = ordered_json::array(), files = ordered_json::array();
  for (const fs::path& set : sets_in(folder))
    if (auto ok = add_set(set, sets, files); !ok) return tl::make_unexpected(ok.error());
  const ordered_json head = {
      {"schema", index_schema},
      {"licence", licence},
      {"generator", {{"name", "assay"}, {"version", generator_version}, {"revision", generator_revision}}}};
  std::string text = "{\n";
  for (const auto& [key, value] : head.items()) text += ordered_json(key).dump() + ": " + value.dump() + ",\n";
  return text + lines_of("sets", sets) + ",\n" + lines_of("files", files) + "\n}\n";
}

core::result<std::vector<indexed_set>> read_index(const fs::path& folder) {
  std::vector<indexed_set> all;
  std::error_code ignored;
  const fs::path path = folder / index_name;
  if (!fs::exists(fs::symlink_status(path, ignored))) return all;
  const auto file = formats::read_json_file(path, largest_manifest);
  if (!file) return tl::make_unexpected(file.error());
  const auto wrong = [&](const std::string& rule) { return core::failure(path.string() + ": " + rule); };
  if (file->value.value("schema", json()) != index_schema)
    return wrong("schema must be \"" + std::string(index_schema) + "\"");
  const json sets = file->value.value("sets", json());
  if (!sets.is_array()) return wrong("sets must be a list");
  for (const json& j : sets) {
    if (!j.is_object()) return wrong("a set must be an object");
    const auto name = formats::text_member(j, "name");
    const auto version = formats::count_member(j, "version");
    const auto values = hash_member(j, "values_sha256");
    if (!name || !version || !values) return wrong("a set must have name, version and values_sha256");
    all.push_back({*name, *version, *values});
  }
  const json files = file->value.value("files", json());
  if (!files.is_array()) return wrong("files must be a list");
  for (const json& j : files) {
    if (!j.is_object()) return wrong("a file must be an object");
    const auto name = formats::text_member(j, "file");
    const auto hash = hash_member(j, "sha256");
    if (!name || !hash) return wrong("a file must have file and sha256");
    for (indexed_set& set : all)
      if (name->starts_with(set.name + "/")) set.files[*name] = *hash;
  }
  return all;
}

namespace {

// A text member of an index that this program wrote.
const std::string& text_of(const json& entry, const char* key) { return entry.at(key).get_ref<const std::string&>(); }

bool has_all_of(const indexed_set& old, const json& files) {
  std::size_t found = 0;
  for (const json& f : files)
    if (const auto before = old.files.find(text_of(f, "file")); before != old.files.end())
      found += before->second == text_of(f, "sha256");
  return found == old.files.size();
}

}  // namespace

core::result<void> write_index(const fs::path& folder) {
  const auto before = read_index(folder);
  if (!before) return tl::make_unexpected(before.error());
  const auto text = index_text(folder);
  if (!text) return tl::make_unexpected(text.error());
  const json now = json::parse(*text);
  for (const json& set : now.at("sets"))
    for (const indexed_set& old : *before)
      if (old.name == text_of(set, "name") && old.version == set.at("version") &&
          old.values_sha256 != text_of(set, "values_sha256") && !has_all_of(old, now.at("files")))
        return core::failure((folder / old.name).string() + ": has other values than version " +
                             std::to_string(old.version) + " that the index lists: raise \"version\" in its recipe");
  return formats::replace_file(folder / index_name, *text);
}

std::vector<problem> check_index(const fs::path& folder) {
  std::vector<problem> found;
  const auto text = index_text(folder);
  if (!text) return {{true, text.error().message}};
  const auto there = formats::read_file(folder / index_name, largest_manifest);
  if (!there) return {{true, there.error().message}};
  if (*text != *there) {
    const auto [want, has] = std::mismatch(text->begin(), text->end(), there->begin(), there->end());
    found.push_back({false, (folder / index_name).string() + ": is not the index of these sets from byte " +
                                std::to_string(want - text->begin()) + " on (line " +
                                std::to_string(1 + std::count(text->begin(), want, '\n')) +
                                "): was it edited by hand?"});
  }
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    const bool is_text = name == index_name || name == "LICENSE" || name == "README.md";
    if (!is_text && !fs::is_directory(entry.symlink_status(failed)))
      found.push_back({true, (folder / formats::shown(name)).string() + ": belongs to no set"});
  }
  return found;
}

}  // namespace assay::golden
