#include "golden/check_file.hpp"

#include <algorithm>
#include <cmath>

#include "golden/flags.hpp"
#include "golden/formats/file.hpp"
#include "golden/formats/json_file.hpp"
#include "golden/formats/number_text.hpp"
#include "golden/formats/sha256.hpp"

namespace assay::golden {
namespace {

namespace fs = std::filesystem;

bool same_bits(core::dtype type, double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || core::to_bits(type, a) == core::to_bits(type, b);
}

core::result<void> check_type_and_shape(const std::string& name, const core::tensor& t, core::dtype type,
                                        const core::shape& shape) {
  if (t.type != type)
    return core::failure("tensor '" + name + "' must be " + std::string(core::name_of(type)) + " but is " +
                         std::string(core::name_of(t.type)));
  if (t.shape() != shape)
    return core::failure("tensor '" + name + "' must have shape " + core::to_string(shape) + " but has " +
                         core::to_string(t.shape()));
  return {};
}

// The call in a file: its inputs lie in their domain and have the axes that the metadata says. Its outputs and the
// tensors beside them have the shapes and dtypes that follow, and there are no other tensors.
core::result<core::request> call_in(const set_file& f, const core::tensors& all) {
  const core::operation& op = *f.operation;
  core::request call{&op, f.type, {}, f.attributes};
  std::size_t known = 0;
  for (const auto& d : op.inputs)
    if (const auto t = all.find(d.name); t != all.end()) call.inputs.insert(*t);
  const auto sizes = core::check_request(call);
  if (!sizes) return tl::make_unexpected(sizes.error());
  if (*sizes != f.axes) return core::failure("the inputs have other axes than the metadata says");
  if (auto ok = check_inputs(op, call.inputs); !ok) return tl::make_unexpected(ok.error());
  known += call.inputs.size();
  for (const auto& d : op.outputs) {
    const core::dtype type = d.type_in(f.type);
    std::vector<std::string> names = names_beside(d.name, type);
    names.push_back(d.name);
    for (const std::string& name : names) {
      const auto t = all.find(name);
      if (t == all.end()) return core::failure("tensor '" + name + "' is missing");
      if (auto ok = check_type_and_shape(name, t->second, name == d.name ? type : core::dtype::f64,
                                         core::shape_of(d, *sizes));
          !ok)
        return tl::make_unexpected(ok.error());
      ++known;
    }
  }
  if (known != all.size()) {
    const auto roles = roles_of(op, f.type);
    for (const auto& [name, t] : all)
      if (!roles.contains(name)) return core::failure("unknown tensor '" + formats::shown(name) + "'");
  }
  return call;
}

// Checks one file; problems name it.
class file_checker {
 public:
  file_checker(const fs::path& path, const set_options& options, set_check& found)
      : path_(path), options_(options), found_(found) {}

  void run(const listed_file* listed, const recipe_entry* entry) {
    const auto bytes = formats::read_file(path_, set_limits.file_bytes);
    if (!bytes) return add(true, bytes.error().message);
    ++found_.files;
    const std::size_t before = found_.problems.size();
    if (const std::string hash = formats::sha256(*bytes); listed != nullptr && hash != listed->sha256)
      complain(false, "SHA-256 is " + hash + " but the manifest says " + listed->sha256);
    auto file = golden_file_from(*bytes, path_);
    if (!file) return add(true, file.error().message);
    if (listed != nullptr) {
      set_file said = listed->file;
      said.reveals = file->about.reveals;
      compare_metadata(metadata_of(file->about), metadata_of(said), "the manifest says ");
    }
    if (file->about.name() != path_.filename().string())
      complain(false, "must be named " + file->about.name() + " by its metadata");
    if (entry != nullptr) compare_inputs(*file, *entry);
    auto proved = prove(file->call);
    if (!proved) return complain(false, proved.error().message);
    for (const auto& [name, t] : proved->tensors) compare(name, file->tensors.at(name), t, " is proved");
    golden_file right{file->about, file->call, file->call.inputs};
    right.tensors.merge(proved->tensors);
    describe(right, options_.reveal);
    compare_metadata(metadata_of(file->about), metadata_of(right.about), "by its numbers it must be ");
    if (found_.problems.size() > before) return;
    if (formats::safetensors_bytes(right.tensors, metadata_of(right.about)).value() != *bytes)
      complain(false, "is not written as Assay writes it: other bytes for the same tensors");
  }

 private:
  void add(bool malformed, std::string text) { found_.problems.push_back({malformed, std::move(text)}); }
  void complain(bool malformed, const std::string& text) { add(malformed, path_.string() + ": " + text); }

  void compare_metadata(const formats::metadata& came, const formats::metadata& wanted, const std::string& by) {
    for (const auto& [key, text] : wanted)
      if (came.at(key) != text)
        complain(false, "metadata '" + key + "' is '" + formats::shown(came.at(key), 200) + "' but " + by + "'" +
                            formats::shown(text, 200) + "'");
  }

  void compare_inputs(const golden_file& file, const recipe_entry& entry) {
    set_file by_recipe = file.about;
    by_recipe.reason = entry.reason;
    by_recipe.operation = entry.operation;
    by_recipe.attributes = entry.attributes;
    by_recipe.axes = entry.axes;
    by_recipe.seed = entry.seed;
    by_recipe.entry_sha256 = entry.sha256;
    compare_metadata(metadata_of(file.about), metadata_of(by_recipe), "the recipe says ");
    if (entry.operation != file.about.operation || entry.axes != file.about.axes) return;
    const auto drawn = draw_inputs(entry, file.about.type);
    if (!drawn) return complain(false, drawn.error().message);
    for (const auto& [name, t] : *drawn) compare(name, file.call.inputs.at(name), t, " is drawn by the recipe");
  }

  void compare(const std::string& name, const core::tensor& came, const core::tensor& right, const char* why) {
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < right.size(); ++i)
      if (!same_bits(right.type, came.values.storage()[i], right.values.storage()[i]) && wrong++ == 0) first = i;
    found_.elements += right.size();
    if (wrong > 0)
      complain(false, name + core::index_text(right.shape(), first) + " is " +
                          formats::number_text(came.values.storage()[first]) + " but " +
                          formats::number_text(right.values.storage()[first]) + why + " (" + std::to_string(wrong) +
                          " of " + std::to_string(right.size()) + " elements are wrong)");
  }

  fs::path path_;
  const set_options& options_;
  set_check& found_;
};

}  // namespace

core::result<golden_file> read_golden_file(const fs::path& path) {
  const auto bytes = formats::read_file(path, set_limits.file_bytes);
  if (!bytes) return tl::make_unexpected(bytes.error());
  return golden_file_from(*bytes, path);
}

core::result<golden_file> golden_file_from(std::string_view bytes, const fs::path& path) {
  auto read = formats::described_safetensors_from(bytes, path.string(), set_limits);
  if (!read) return core::failure(read.error().message);
  auto about = set_file_from(read->about);
  if (!about) return formats::within(path.string(), about.error());
  auto call = call_in(*about, read->tensors);
  if (!call) return formats::within(path.string(), call.error());
  return golden_file{std::move(*about), std::move(*call), std::move(read->tensors)};
}

void describe(golden_file& file, const revealing& reveal) {
  set_file& about = file.about;
  bool wide = std::find(about.flags.begin(), about.flags.end(), wide_flag) != about.flags.end();
  if (reveal) {
    revelation found = reveal(file);
    about.reveals = std::move(found.mutants);
    wide = found.wide;
  }
  about.flags = flags_of(file.call, about.axes, file.tensors);
  if (wide) about.flags.emplace_back(wide_flag);
  std::sort(about.flags.begin(), about.flags.end());
}

void check_listed_file(const fs::path& path, const set_options& options, const listed_file* listed,
                       const recipe_entry* entry, set_check& found) {
  file_checker(path, options, found).run(listed, entry);
}

set_check check_file(const fs::path& path, const set_options& options) {
  set_check found;
  check_listed_file(path, options, nullptr, nullptr, found);
  return found;
}

}  // namespace assay::golden
