#include "golden/recipe.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "golden/formats/attributes_json.hpp"
#include "golden/formats/json_file.hpp"
#include "golden/formats/sha256.hpp"
#include "reference/core/fnv1a.hpp"
#include "reference/oracle.hpp"

namespace assay::golden {
namespace {

using nlohmann::json;
constexpr const char* schema = "assay-golden-recipe/1";
constexpr std::uint64_t largest_file = std::uint64_t{1} << 20;

core::result<std::vector<core::dtype>> dtypes_from(const json& j) {
  if (!j.is_array() || j.empty()) return core::failure("must be a list of dtypes that is not empty");
  std::vector<core::dtype> all;
  for (const json& name : j) {
    const auto type = name.is_string() ? core::dtype_named(name.get_ref<const std::string&>()) : std::nullopt;
    if (!type || !core::is_floating(*type))
      return core::failure(formats::shown(name.dump()) + " is no floating-point dtype");
    if (std::find(all.begin(), all.end(), *type) != all.end()) return core::failure(name.dump() + " is there twice");
    all.push_back(*type);
  }
  return all;
}

// The axes whose sizes are settings; "axes" does not have them.
core::axis_sizes axes_of_settings(const core::operation& op, const core::attributes& settings) {
  const auto symbols = core::axis_symbols(op);
  core::axis_sizes sizes;
  for (const core::attribute_declaration& a : op.attributes)
    if (symbols.contains(a.axis))
      sizes[a.axis] = static_cast<std::size_t>(core::setting<std::int64_t>(settings, a.name));
  return sizes;
}

// The distributions in `j`. Other inputs have the distribution `otherwise`, or none where a family draws them.
core::result<std::map<std::string, distribution>> inputs_from(const json& j, const core::operation& op,
                                                              const json* otherwise) {
  if (!j.is_object()) return core::failure("must be an object of distributions");
  for (const auto& [name, ignored] : j.items())
    if (op.input(name) == nullptr) return core::failure(op.name + " has no input '" + formats::shown(name) + "'");
  std::map<std::string, distribution> all;
  for (const auto& declaration : op.inputs) {
    if (otherwise == nullptr && !j.contains(declaration.name)) continue;
    auto d = parse_distribution(j.contains(declaration.name) ? j.at(declaration.name) : *otherwise);
    if (!d) return formats::within(declaration.name, d.error());
    for (const prefix& p : d->prefixes)
      if (!core::axis_of(declaration, p.axis))
        return core::failure(declaration.name + ": prefix: there is no axis '" + formats::shown(p.axis) + "'");
    all.emplace(declaration.name, std::move(*d));
  }
  return all;
}

core::result<recipe_entry> entry_from(const json& j, const std::string& encoding, const json& otherwise,
                                      const input_families& families) {
  if (auto ok = formats::require_members(j, {"id", "reason", "operation", "dtypes", "axes", "seed", "inputs"},
                                         {"attributes", "family"});
      !ok)
    return tl::make_unexpected(ok.error());
  recipe_entry entry;
  for (const auto& [key, text] : {std::pair{"id", &entry.id}, std::pair{"reason", &entry.reason}}) {
    auto read = formats::text_member(j, key);
    if (!read) return tl::make_unexpected(read.error());
    *text = std::move(*read);
  }
  if (!is_entry_id(entry.id)) return core::failure("member 'id' must be lower-case letters, digits, '_' and '-'");
  if (entry.reason.empty()) return core::failure("member 'reason' must not be empty");
  const auto name = formats::text_member(j, "operation");
  if (!name) return tl::make_unexpected(name.error());
  entry.operation = reference::find_operation(*name);
  if (entry.operation == nullptr || !name->starts_with(encoding + "/"))
    return core::failure("'" + formats::shown(*name) + "' is no operation of " + encoding);
  auto attributes = formats::declared_attributes_from(*entry.operation, j.value("attributes", json::object()));
  if (!attributes) return formats::within("attributes", attributes.error());
  entry.attributes = std::move(*attributes);
  auto types = dtypes_from(j.at("dtypes"));
  if (!types) return formats::within("dtypes", types.error());
  entry.dtypes = std::move(*types);
  auto axes = axes_from(j.at("axes"), *entry.operation, axes_of_settings(*entry.operation, entry.attributes));
  if (!axes) return formats::within("axes", axes.error());
  entry.axes = std::move(*axes);
  if (entry.operation->conflict != nullptr)
    if (const std::string why = entry.operation->conflict(entry.attributes, entry.axes); !why.empty())
      return core::failure("attributes: " + why);
  const auto seed = formats::count_member(j, "seed");
  if (!seed) return tl::make_unexpected(seed.error());
  entry.seed = *seed;
  if (j.contains("family")) {
    entry.family = j.at("family").get<std::string>();
    entry.draw_family = families.draw;
  }
  auto inputs = inputs_from(j.at("inputs"), *entry.operation, j.contains("family") ? nullptr : &otherwise);
  if (!inputs) return formats::within("inputs", inputs.error());
  entry.inputs = std::move(*inputs);
  entry.sha256 = formats::sha256(json::array({j, otherwise}).dump());
  return entry;
}

core::result<recipe> recipe_from(const json& j, const input_families& families) {
  if (auto ok = formats::require_members(j, {"schema", "encoding", "default", "entries"}, {"version"}); !ok)
    return tl::make_unexpected(ok.error());
  if (j.at("schema") != schema)
    return core::failure("schema " + formats::shown(j.at("schema").dump()) + " instead of \"" + schema + "\"");
  recipe r;
  const auto encoding = formats::text_member(j, "encoding");
  if (!encoding) return tl::make_unexpected(encoding.error());
  r.encoding = *encoding;
  const auto& known = reference::encoding_names();
  if (std::find(known.begin(), known.end(), r.encoding) == known.end())
    return core::failure("unknown encoding '" + formats::shown(r.encoding) + "'");
  if (j.contains("version")) {
    const auto version = formats::count_member(j, "version");
    if (!version) return tl::make_unexpected(version.error());
    r.version = *version;
  }
  if (!j.at("entries").is_array() || j.at("entries").empty())
    return core::failure("member 'entries' must be a list that is not empty");
  std::set<std::string> ids;
  for (const json& item : j.at("entries")) {
    const bool named = item.is_object() && item.contains("id") && item.at("id").is_string();
    const std::string where = "entry " + (named ? "'" + formats::shown(item.at("id").get<std::string>()) + "'"
                                                : std::to_string(r.entries.size()));
    const auto all = entries_of(item, r.encoding, families);
    if (!all) return formats::within(where, all.error());
    for (const json& one : *all) {
      auto entry = entry_from(one, r.encoding, j.at("default"), families);
      if (!entry) return formats::within(where, entry.error());
      if (!ids.insert(entry->id).second) return core::failure("entry '" + entry->id + "': the id is there twice");
      r.entries.push_back(std::move(*entry));
    }
  }
  return r;
}

}  // namespace

bool is_entry_id(const std::string& text) {
  return !text.empty() && text.size() <= 60 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

core::result<recipe> read_recipe(const std::filesystem::path& path, const input_families& families) {
  const auto file = formats::read_json_file(path, largest_file);
  if (!file) return tl::make_unexpected(file.error());
  auto r = recipe_from(file->value, families);
  if (!r) return formats::within(path.string(), r.error());
  r->sha256 = formats::sha256(file->text);
  return r;
}

core::result<recipe> recipe_of(const json& all, const input_families& families) {
  auto r = recipe_from(all, families);
  if (r) r->sha256 = formats::sha256(all.dump());
  return r;
}

core::result<void> check_inputs(const core::operation& op, const core::tensors& inputs) {
  core::tensors ordinary = inputs;
  if (op.is_forward())
    for (const auto& d : op.inputs)
      if (core::tensor& t = ordinary.at(d.name); core::is_floating(t.type))
        for (double& x : t.values.storage())
          if (std::isnan(x) || x == std::numeric_limits<double>::infinity()) x = d.domain.high;
  return core::check_domain(op, ordinary);
}

core::result<core::tensors> draw_inputs(const recipe_entry& entry, core::dtype type) {
  core::tensors inputs;
  if (!entry.family.empty()) inputs = entry.draw_family(entry, type);
  for (const auto& declaration : entry.operation->inputs) {
    if (const auto d = entry.inputs.find(declaration.name); d != entry.inputs.end())
      inputs.insert_or_assign(
          declaration.name, draw(d->second, declaration, type, entry.axes, entry.seed ^ core::fnv1a(declaration.name)));
    if (const core::tensor& t = inputs.at(declaration.name); t.shape() != core::shape_of(declaration, entry.axes))
      return core::failure(declaration.name + ": the family '" + entry.family + "' has no inputs of these sizes");
  }
  if (auto ok = check_inputs(*entry.operation, inputs); !ok) return tl::make_unexpected(ok.error());
  return inputs;
}

}  // namespace assay::golden
