#include <tbb/parallel_for.h>

#include <atomic>
#include <mutex>
#include <set>

#include "golden/check_file.hpp"
#include "golden/formats/file.hpp"
#include "golden/formats/json_file.hpp"
#include "golden/formats/partial_folder.hpp"
#include "golden/formats/sha256.hpp"
#include "golden/golden_set.hpp"

namespace assay::golden {
namespace {

namespace fs = std::filesystem;

// One file that is to be made.
struct job {
  const recipe_entry* entry = nullptr;
  core::dtype type{};
  set_file file{};
};

struct made_file {
  std::string sha256;
  std::size_t bytes = 0, elements = 0;
  bool kept = false;
  set_file file{};
  std::array<std::size_t, reference::precision_digits.size()> elements_by_rung{};
};

std::vector<job> jobs_of(const recipe& r) {
  std::vector<job> jobs;
  for (const recipe_entry& e : r.entries)
    for (const core::dtype type : e.dtypes) {
      set_file f{r.encoding, r.version, e.id,   e.reason, e.operation, e.attributes,
                 type,       e.axes,    e.seed, e.sha256, {},          {}};
      jobs.push_back({&e, type, std::move(f)});
    }
  return jobs;
}

// The work for a file, in a unit of time: a part for the file, and one for its elements.
double work_of(const job& j) {
  double elements = 0;
  for (const auto& d : j.entry->operation->outputs)
    elements += static_cast<double>(core::element_count(core::shape_of(d, j.entry->axes)));
  return 20.0 + elements;
}

std::size_t outputs_in(const set_file& f) {
  std::size_t elements = 0;
  for (const auto& d : f.operation->outputs) elements += core::element_count(core::shape_of(d, f.axes));
  return elements;
}

// The file from an interrupted run, where it is whole and has the same entry.
std::optional<made_file> finished(const job& j, const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return std::nullopt;
  const auto bytes = formats::read_file(path, set_limits.file_bytes);
  if (!bytes) return std::nullopt;
  const auto there = golden_file_from(*bytes, path);
  if (!there) return std::nullopt;
  set_file same = j.file;
  same.flags = there->about.flags;
  same.reveals = there->about.reveals;
  if (metadata_of(same) != metadata_of(there->about)) return std::nullopt;
  return made_file{formats::sha256(*bytes), bytes->size(), outputs_in(same), true, same, {}};
}

core::result<made_file> make_file(const job& j, const set_options& options, const fs::path& folder) {
  auto inputs = draw_inputs(*j.entry, j.type);
  if (!inputs) return tl::make_unexpected(inputs.error());
  const core::request call{j.entry->operation, j.type, *inputs, j.entry->attributes};
  auto proved = prove(call, options.rungs);
  if (!proved) return tl::make_unexpected(proved.error());
  made_file made;
  made.file = j.file;
  made.elements_by_rung = proved->elements_by_rung;
  made.elements = outputs_in(j.file);
  golden_file file{made.file, call, std::move(*inputs)};
  file.tensors.merge(proved->tensors);
  describe(file, options.reveal);
  made.file = file.about;
  const auto bytes = formats::safetensors_bytes(file.tensors, metadata_of(made.file));
  if (!bytes) return tl::make_unexpected(bytes.error());
  made.sha256 = formats::sha256(*bytes);
  made.bytes = bytes->size();
  if (auto ok = formats::replace_file(folder / j.file.name(), *bytes); !ok) return tl::make_unexpected(ok.error());
  return made;
}

// Reports the progress of the work, one thread at a time.
class reporter {
 public:
  reporter(const progress& report, const std::vector<job>& jobs) : report_(report), files_(jobs.size()) {
    for (const job& j : jobs) all_ += work_of(j);
  }
  void begin() { say(); }
  void add(const job& j) {
    const std::lock_guard lock(one_at_a_time_);
    ++done_;
    work_ += work_of(j);
    say();
  }

 private:
  void say() const {
    if (report_) report_(done_, files_, all_ > 0.0 ? work_ / all_ : 1.0);
  }
  const progress& report_;
  std::mutex one_at_a_time_;
  std::size_t done_ = 0, files_;
  double work_ = 0, all_ = 0;
};

}  // namespace

core::result<making> make_set(const recipe& r, const fs::path& wanted, const set_options& options) {
  fs::path folder = wanted.lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "set/" is "set"
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(folder, ignored)))
    return core::failure(folder.string() + ": exists already; a set is made in a new folder");
  auto partial = formats::partial_folder::acquire(folder);
  if (!partial) return tl::make_unexpected(partial.error());
  const std::vector<job> jobs = jobs_of(r);
  reporter reporting(options.report, jobs);
  reporting.begin();
  std::vector<core::result<made_file>> files(jobs.size());
  std::atomic<bool> failed = false;
  tbb::parallel_for(std::size_t{0}, jobs.size(), [&](std::size_t i) {
    if (failed) return;
    const job& j = jobs[i];
    if (auto there = finished(j, partial->path() / j.file.name()))
      files[i] = std::move(*there);
    else
      files[i] = make_file(j, options, partial->path());
    if (!files[i]) failed = true;
    reporting.add(j);
  });
  manifest m{r.encoding, r.sha256, r.version, {}};
  making sum;
  std::set<std::string> names{manifest_name};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!files[i])
      return formats::within("entry '" + jobs[i].entry->id + "' in " + std::string(core::name_of(jobs[i].type)),
                             files[i].error());
    made_file& made = *files[i];
    ++sum.files;
    sum.kept += made.kept;
    sum.bytes += made.bytes;
    sum.elements += made.elements;
    for (std::size_t rung = 0; rung < sum.elements_by_rung.size(); ++rung)
      sum.elements_by_rung[rung] += made.elements_by_rung[rung];
    names.insert(made.file.name());
    made.file.reveals.clear();
    m.files.push_back({std::move(made.file), std::move(made.sha256)});
  }
  const std::string text = manifest_text(m);
  sum.bytes += text.size();
  if (auto ok = formats::replace_file(partial->path() / manifest_name, text); !ok)
    return tl::make_unexpected(ok.error());
  if (auto ok = partial->finish(names); !ok) return tl::make_unexpected(ok.error());
  return sum;
}

}  // namespace assay::golden
