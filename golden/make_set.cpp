#include "golden/file.hpp"
#include "golden/golden_set.hpp"
#include "golden/json_file.hpp"
#include "golden/sha256.hpp"

namespace assay::golden {
namespace {

namespace fs = std::filesystem;

// A folder that is gone at the end unless it has got its lasting name.
class temporary_folder {
 public:
  explicit temporary_folder(const fs::path& lasting) : lasting_(lasting), path_(temporary_beside(lasting)) {}
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  [[nodiscard]] const fs::path& path() const { return path_; }
  core::result<void> create() {
    std::error_code failed;
    if (!fs::create_directory(path_, failed) || failed)
      return core::failure(lasting_.string() + ": cannot be created: " + failed.message());
    return {};
  }
  core::result<void> keep() {
    std::error_code failed;
    fs::rename(path_, lasting_, failed);
    if (failed) return core::failure(lasting_.string() + ": cannot be written: " + failed.message());
    return {};
  }

 private:
  fs::path lasting_, path_;
};

// Writes one file and adds it to the record of the set.
core::result<void> make_file(const recipe_entry& entry, core::dtype type, std::size_t rungs, const fs::path& folder,
                             manifest& m, making& sum) {
  auto inputs = draw_inputs(entry, type);
  if (!inputs) return tl::make_unexpected(inputs.error());
  auto proved = prove({entry.operation, type, *inputs, entry.attributes}, rungs);
  if (!proved) return tl::make_unexpected(proved.error());
  core::tensors all = std::move(*inputs);
  all.merge(proved->tensors);
  const auto bytes = safetensors_bytes(all);
  if (!bytes) return tl::make_unexpected(bytes.error());
  set_file file{entry.id, entry.reason, entry.operation, entry.attributes,
                type,     entry.axes,   entry.seed,      sha256(*bytes)};
  if (auto ok = replace_file(folder / file.name(), *bytes); !ok) return ok;
  m.files.push_back(std::move(file));
  ++sum.files;
  sum.bytes += bytes->size();
  for (std::size_t rung = 0; rung < sum.at_rung.size(); ++rung) sum.at_rung[rung] += proved->at_rung[rung];
  return {};
}

}  // namespace

core::result<making> make_set(const recipe& r, const fs::path& wanted, const progress& report, std::size_t rungs) {
  fs::path folder = wanted.lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "set/" is "set"
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(folder, ignored)))
    return core::failure(folder.string() + ": exists already; a set is made in a new folder");
  temporary_folder temporary(folder);
  if (auto ok = temporary.create(); !ok) return tl::make_unexpected(ok.error());
  manifest m{r.encoding, r.sha256, {}};
  making sum;
  std::size_t all = 0;
  for (const recipe_entry& entry : r.entries) all += entry.dtypes.size();
  for (const recipe_entry& entry : r.entries)
    for (const core::dtype type : entry.dtypes) {
      if (report) report(sum.files, all);
      if (auto ok = make_file(entry, type, rungs, temporary.path(), m, sum); !ok)
        return within("entry '" + entry.id + "' in " + std::string(core::name_of(type)), ok.error());
    }
  const std::string text = manifest_text(m);
  sum.bytes += text.size();
  if (auto ok = replace_file(temporary.path() / manifest_name, text); !ok) return tl::make_unexpected(ok.error());
  if (auto ok = temporary.keep(); !ok) return tl::make_unexpected(ok.error());
  return sum;
}

}  // namespace assay::golden
