#include <cmath>
#include <set>

#include "golden/formats/file.hpp"
#include "golden/formats/json_file.hpp"
#include "golden/formats/number_text.hpp"
#include "golden/formats/sha256.hpp"
#include "golden/golden_set.hpp"

namespace assay::golden {
namespace {

namespace fs = std::filesystem;

bool same_bits(core::dtype type, double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || core::to_bits(type, a) == core::to_bits(type, b);
}

// The tensors of a file, told apart by their role in the operation.
struct contents {
  core::tensors inputs, outputs;
};

// One file of a set; problems name it.
class file_checker {
 public:
  file_checker(const fs::path& folder, const set_file& file, set_check& found)
      : path_(folder / file.name()), file_(file), found_(found) {}

  void run() {
    const auto bytes = formats::read_file(path_, set_limits.file_bytes);
    if (!bytes) return add(true, bytes.error().message);
    ++found_.files;
    const std::size_t before = found_.problems.size();
    if (const std::string hash = formats::sha256(*bytes); hash != file_.sha256)
      complain(false, "SHA-256 is " + hash + " but the manifest says " + file_.sha256);
    auto tensors = formats::read_safetensors(path_, set_limits);
    if (!tensors) return add(true, tensors.error().message);
    auto split = told_apart(std::move(*tensors));
    if (!split) return complain(true, split.error().message);
    auto proved = prove({file_.operation, file_.type, split->inputs, file_.attributes});
    if (!proved) return complain(false, proved.error().message);
    for (const auto& [name, t] : proved->tensors) compare(name, split->outputs.at(name), t);
    if (found_.problems.size() > before) return;
    split->inputs.merge(proved->tensors);
    if (formats::safetensors_bytes(split->inputs).value() != *bytes)
      complain(false, "is not written as Assay writes it: other bytes for the same tensors");
  }

 private:
  void add(bool malformed, std::string text) { found_.problems.push_back({malformed, std::move(text)}); }
  void complain(bool malformed, const std::string& text) { add(malformed, path_.string() + ": " + text); }

  // The inputs in their domain, of the manifest's axes; the outputs and what stands beside them in the shapes
  // and dtypes that follow.
  core::result<contents> told_apart(core::tensors all) const {
    contents split;
    const core::operation& op = *file_.operation;
    for (const auto& d : op.inputs)
      if (auto node = all.extract(d.name)) split.inputs.insert(std::move(node));
    const auto sizes = core::check_request({&op, file_.type, split.inputs, file_.attributes});
    if (!sizes) return tl::make_unexpected(sizes.error());
    if (*sizes != file_.axes) return core::failure("the inputs have other axes than the manifest says");
    if (auto ok = core::check_domain(op, split.inputs); !ok) return tl::make_unexpected(ok.error());
    for (const auto& d : op.outputs)
      for (const std::string& name : {d.name, low_name(d.name), allow_name(d.name)}) {
        auto node = all.extract(name);
        if (!node) return core::failure("tensor '" + name + "' is missing");
        const core::dtype type = name == d.name ? d.type_in(file_.type) : core::dtype::f64;
        const core::shape shape = core::shape_of(d, *sizes), came = node.mapped().shape();
        if (node.mapped().type != type)
          return core::failure("tensor '" + name + "' must be " + std::string(core::name_of(type)) + " but is " +
                               std::string(core::name_of(node.mapped().type)));
        if (came != shape)
          return core::failure("tensor '" + name + "' must have shape " + core::to_string(shape) + " but has " +
                               core::to_string(came));
        split.outputs.insert(std::move(node));
      }
    if (!all.empty()) return core::failure("unknown tensor '" + formats::shown(all.begin()->first) + "'");
    return split;
  }

  void compare(const std::string& name, const core::tensor& came, const core::tensor& proved) {
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < proved.size(); ++i)
      if (!same_bits(proved.type, came.values.storage()[i], proved.values.storage()[i]) && wrong++ == 0) first = i;
    found_.elements += proved.size();
    if (wrong > 0)
      complain(false, name + core::index_text(proved.shape(), first) + " is " +
                          formats::number_text(came.values.storage()[first]) + " but " +
                          formats::number_text(proved.values.storage()[first]) + " is proved (" +
                          std::to_string(wrong) + " of " + std::to_string(proved.size()) + " elements are wrong)");
  }

  fs::path path_;
  const set_file& file_;
  set_check& found_;
};

void check_listing(const fs::path& folder, const manifest& m, set_check& found) {
  std::set<std::string> expected{manifest_name};
  for (const set_file& f : m.files) expected.insert(f.name());
  std::error_code failed;
  fs::directory_iterator at(folder, failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed))
    if (const std::string name = at->path().filename().string(); !expected.contains(name))
      found.problems.push_back({true, (folder / formats::shown(name)).string() + ": is not in the manifest"});
  if (failed) found.problems.push_back({true, folder.string() + ": cannot be listed: " + failed.message()});
}

}  // namespace

set_check check_set(const fs::path& folder, const progress& report) {
  set_check found;
  const auto m = read_manifest(folder);
  if (!m) {
    found.problems.push_back({true, m.error().message});
    return found;
  }
  check_listing(folder, *m, found);
  std::size_t done = 0;
  for (const set_file& f : m->files) {
    if (report) report(done++, m->files.size());
    file_checker(folder, f, found).run();
  }
  return found;
}

}  // namespace assay::golden
