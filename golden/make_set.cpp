#include "golden/formats/file.hpp"
#include "golden/formats/json_file.hpp"
#include "golden/formats/sha256.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "golden/golden_set.hpp"

namespace assay::golden {
namespace {

namespace fs = std::filesystem;

// Writes one file and adds it to the record of the set.
core::result<void> make_file(const recipe_entry& entry, core::dtype type, std::size_t rungs, const fs::path& folder,
                             manifest& m, making& sum) {
  auto inputs = draw_inputs(entry, type);
  if (!inputs) return tl::make_unexpected(inputs.error());
  auto proved = prove({entry.operation, type, *inputs, entry.attributes}, rungs);
  if (!proved) return tl::make_unexpected(proved.error());
  core::tensors all = std::move(*inputs);
  all.merge(proved->tensors);
  const auto bytes = formats::safetensors_bytes(all);
  if (!bytes) return tl::make_unexpected(bytes.error());
  set_file file{entry.id, entry.reason, entry.operation, entry.attributes,
                type,     entry.axes,   entry.seed,      formats::sha256(*bytes)};
  if (auto ok = formats::replace_file(folder / file.name(), *bytes); !ok) return ok;
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
  auto temporary = formats::temporary_folder::beside(folder);
  if (!temporary) return tl::make_unexpected(temporary.error());
  manifest m{r.encoding, r.sha256, {}};
  making sum;
  std::size_t all = 0;
  for (const recipe_entry& entry : r.entries) all += entry.dtypes.size();
  for (const recipe_entry& entry : r.entries)
    for (const core::dtype type : entry.dtypes) {
      if (report) report(sum.files, all);
      if (auto ok = make_file(entry, type, rungs, temporary->path(), m, sum); !ok)
        return formats::within("entry '" + entry.id + "' in " + std::string(core::name_of(type)), ok.error());
    }
  const std::string text = manifest_text(m);
  sum.bytes += text.size();
  if (auto ok = formats::replace_file(temporary->path() / manifest_name, text); !ok)
    return tl::make_unexpected(ok.error());
  if (auto ok = temporary->keep_as(folder); !ok) return tl::make_unexpected(ok.error());
  return sum;
}

}  // namespace assay::golden
