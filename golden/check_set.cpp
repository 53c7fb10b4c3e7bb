#include <tbb/parallel_for.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "golden/check_file.hpp"
#include "golden/formats/json_file.hpp"

namespace assay::golden {
namespace {

namespace fs = std::filesystem;

void check_listing(const fs::path& folder, const manifest& m, set_check& found) {
  std::set<std::string> expected{manifest_name};
  for (const listed_file& f : m.files) expected.insert(f.file.name());
  std::error_code failed;
  fs::directory_iterator entry(folder, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed))
    if (const std::string name = entry->path().filename().string(); !expected.contains(name))
      found.problems.push_back({true, (folder / formats::shown(name)).string() + ": is not in the manifest"});
  if (failed) found.problems.push_back({true, folder.string() + ": cannot be listed: " + failed.message()});
}

// The manifest's files must be those of the recipe, in its order.
void check_recipe(const fs::path& folder, const manifest& m, const recipe& r, set_check& found) {
  const auto complain = [&](const std::string& text) {
    found.problems.push_back({false, (folder / manifest_name).string() + ": " + text});
  };
  if (m.recipe != r.encoding || m.version != r.version)
    complain("is of version " + std::to_string(m.version) + " of '" + formats::shown(m.recipe) +
             "', the recipe of version " + std::to_string(r.version) + " of '" + r.encoding + "'");
  if (m.recipe_sha256 != r.sha256)
    complain("the recipe has SHA-256 " + r.sha256 + " but " + m.recipe_sha256 + " is said");
  std::vector<std::string> wanted, listed;
  for (const recipe_entry& e : r.entries)
    for (const core::dtype type : e.dtypes)
      wanted.push_back(e.id + "." + std::string(core::name_of(type)) + ".safetensors");
  for (const listed_file& f : m.files) listed.push_back(f.file.name());
  if (wanted == listed) return;
  const auto [want, has] = std::mismatch(wanted.begin(), wanted.end(), listed.begin(), listed.end());
  complain("file " + std::to_string(want - wanted.begin()) + " is " + (has == listed.end() ? "missing" : *has) +
           " where the recipe has " + (want == wanted.end() ? "none" : *want));
}

const recipe_entry* entry_of(const recipe* r, const std::string& id) {
  if (r == nullptr) return nullptr;
  const auto e = std::find_if(r->entries.begin(), r->entries.end(), [&](const auto& entry) { return entry.id == id; });
  return e == r->entries.end() ? nullptr : &*e;
}

}  // namespace

set_check check_set(const fs::path& folder, const set_options& options, const recipe* from) {
  set_check found;
  const auto m = read_manifest(folder);
  if (!m) {
    found.problems.push_back({true, m.error().message});
    return found;
  }
  check_listing(folder, *m, found);
  if (from != nullptr) check_recipe(folder, *m, *from, found);
  std::vector<set_check> file_checks(m->files.size());
  std::mutex one_at_a_time;
  std::size_t done = 0;
  tbb::parallel_for(std::size_t{0}, m->files.size(), [&](std::size_t i) {
    const listed_file& f = m->files[i];
    check_listed_file(folder / f.file.name(), options, &f, entry_of(from, f.file.id), file_checks[i]);
    const std::lock_guard lock(one_at_a_time);
    ++done;
    if (options.report)
      options.report(done, m->files.size(), static_cast<double>(done) / static_cast<double>(m->files.size()));
  });
  for (set_check& one : file_checks) {
    found.files += one.files;
    found.elements += one.elements;
    std::move(one.problems.begin(), one.problems.end(), std::back_inserter(found.problems));
  }
  return found;
}

}  // namespace assay::golden
