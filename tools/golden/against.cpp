#include <fmt/format.h>

#include <map>

#include "golden/compare_set.hpp"
#include "golden/formats/json_file.hpp"
#include "properties/harness/verdict.hpp"
#include "tools/commands.hpp"
#include "tools/gate/findings.hpp"
#include "tools/golden/commands.hpp"

namespace assay::tools {
namespace {

namespace fs = std::filesystem;

core::precisions arithmetic_of(const golden::golden_file& file, const std::string& given) {
  if (given == "storage") return file.about.type;
  if (given == "f32" && golden::arithmetics_of(file.about.type).size() > 1) return core::dtype::f32;
  return file.about.operation->usual_precisions(file.about.type);
}

// The verdicts on the files of an operation in one dtype.
struct part_verdict {
  std::size_t files = 0, wrong = 0, uninformative = 0;
  properties::value_report sum;  ///< the largest ratios
};

void add(part_verdict& part, const properties::value_report& r) {
  ++part.files;
  part.wrong += !r.passed;
  part.uninformative += r.passed && !r.informative;
  for (std::size_t c = 0; c < r.ratios.size(); ++c) part.sum.ratios[c] = std::max(part.sum.ratios[c], r.ratios[c]);
  part.sum.largest_ulp = std::max(part.sum.largest_ulp, r.largest_ulp);
}

// The gate's words on what passed.
std::string words_for(const core::operation& op, const properties::value_report& sum) {
  if (!reference::has_classes(op)) {
    const double share = sum.ratios[static_cast<std::size_t>(reference::one_algorithm)] * reference::class_slack;
    return fmt::format("right: at most {:.3g} ulp, {:.2g} of what its rounding explains", sum.largest_ulp, share);
  }
  using reference::accuracy_class;
  if (const auto reached = sum.accuracy_class())
    return *reached == accuracy_class::linear || *reached == accuracy_class::cumsum
               ? "right, but " + class_words(*reached)
               : fmt::format("right, of class {}", name_of(*reached));
  return "right, but " + no_class_words(op, sum.ratios.back());
}

}  // namespace

int golden_against(const golden_check_options& options) {
  const auto paths = golden_files_at(options.path);
  std::error_code failed;
  if (!paths || !fs::is_directory(options.against, failed)) {
    complain(paths ? options.against.string() + ": must be a folder" : paths.error().message);
    return wrong_input;
  }
  std::map<std::pair<std::string, core::dtype>, part_verdict> parts;
  std::size_t files = 0, missing = 0, wrong = 0, broken = 0;
  for (const fs::path& path : *paths) {
    const auto file = golden::read_golden_file(path);
    if (!file) {
      complain(file.error().message);
      return wrong_input;
    }
    ++files;
    const bool many = options.path != path && path.parent_path() != options.path.lexically_normal() &&
                      fs::exists(options.path / "index.json", failed);
    const fs::path user =
        many ? options.against / file->about.set / path.filename() : options.against / path.filename();
    if (!fs::exists(fs::symlink_status(user, failed))) {
      fmt::print("{}: missing\n", user.string());
      ++missing;
      continue;
    }
    const auto outputs = golden::outputs_of(file->about, user);
    if (!outputs) {
      complain(outputs.error().message);
      ++broken;
      continue;
    }
    const auto report = properties::judge(file->call, arithmetic_of(*file, options.arithmetic), *outputs);
    if (!report.passed) fmt::print("{}: a bug: {}\n", user.string(), report.message);
    wrong += !report.passed;
    add(parts[{file->about.operation->name, file->about.type}], report);
  }
  for (const auto& [key, part] : parts) {
    const core::operation& op = *reference::find_operation(key.first);
    const std::string where = fmt::format("({} in {}: {} files)", key.first, core::name_of(key.second), part.files);
    if (part.wrong > 0)
      fmt::print("- a bug in {} {}\n", part.wrong, where);
    else
      fmt::print("- {} {}\n", words_for(op, part.sum), where);
  }
  fmt::print("{} of {} files right, {} with a bug, {} missing\n", files - missing - wrong - broken, files, wrong,
             missing);
  if (broken > 0) return wrong_input;
  return wrong + missing == 0 ? all_passed : check_failed;
}

}  // namespace assay::tools
