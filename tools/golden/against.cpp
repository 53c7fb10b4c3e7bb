#include <fmt/format.h>

#include <map>

#include "golden/compare_set.hpp"
#include "golden/formats/file.hpp"
#include "properties/laws/laws.hpp"
#include "tools/commands.hpp"
#include "tools/gate/findings.hpp"
#include "tools/golden/commands.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {
namespace {

namespace fs = std::filesystem;

// The user's code, as far as the command line describes it.
properties::description user_of(const golden_check_options& options) {
  properties::description user;
  const fs::path folder = options.against.lexically_normal();
  user.name = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  for (const core::dtype type : {core::dtype::f64, core::dtype::f32, core::dtype::f16, core::dtype::bf16})
    if (options.arithmetic == "storage")
      user.compute[type] = type;
    else if (options.arithmetic == "f32" && golden::arithmetics_of(type).size() > 1)
      user.compute[type] = core::dtype::f32;
  return user;
}

const properties::property* value_property(const core::operation& op) {
  for (const char* name : {"value", "vjp", "jvp"})
    if (const auto* p = properties::find_property(name); p->applies(op)) return p;
  ASSAY_EXPECTS(false);
  return nullptr;
}

// The verdicts on the files of an operation in one dtype.
struct part_verdict {
  std::size_t files = 0, wrong = 0;
  properties::check_result page;  ///< the same for the page; each file is a case and a family
};

void add(part_verdict& part, const golden::golden_file& file, const properties::outcome& o) {
  const properties::value_report& r = *o.value;
  ++part.files;
  part.wrong += !r.passed;
  properties::check_result& check = part.page;
  check.checked = value_property(*file.call.operation);
  check.operation = file.call.operation;
  check.type = file.call.type;
  check.planned = part.files;
  const properties::test_case c{file.call, file.about.id, file.about.seed, {}};
  properties::record_case(check, c, o);
  if (r.passed || check.found) return;
  check.found = properties::counterexample{c, c, o};
  check.worst = r.worst;
  check.worst_case = file.about.name();
}

// The findings of --against.
struct comparison_of_sets {
  std::map<std::pair<std::string, core::dtype>, part_verdict> parts;
  std::size_t files = 0, wrong = 0, broken = 0;
  std::vector<std::string> missing;

  // One sentence for each operation and dtype.
  [[nodiscard]] std::vector<std::string> sentences() const {
    std::vector<std::string> all;
    for (const auto& [key, part] : parts) {
      const std::string where = fmt::format("({} in {}: {} files)", key.first, core::name_of(key.second), part.files);
      const bool passed = part.page.verdict() == properties::status::passed;
      all.push_back(part.wrong > 0 ? fmt::format("a bug in {} {}", part.wrong, where)
                    : passed       ? fmt::format("{} {}", sentence_of_passed(part.page, true).value(), where)
                                   : fmt::format("not decided: any answer would pass {}", where));
    }
    return all;
  }
};

gate_report page_of(const comparison_of_sets& found, const properties::description& user,
                    const golden_check_options& options) {
  gate_report page;
  page.candidate_spec = options.against.string();
  page.golden = options.path;
  page.golden_arithmetic = options.arithmetic;
  page.candidate = user;
  page.run = run_started_now();
  page.findings = found.sentences();
  for (const auto& [key, part] : found.parts) page.checks.push_back(part.page);
  if (!found.missing.empty())
    page.complaints.emplace_back(fmt::format("{} of {} files are missing, such as {}", found.missing.size(),
                                             found.files, found.missing.front()));
  if (found.broken > 0) page.complaints.emplace_back(fmt::format("{} files cannot be read", found.broken));
  page.verdict = found.wrong + found.broken + found.missing.size() == 0 ? gate_verdict::passed : gate_verdict::failed;
  return page;
}

}  // namespace

int golden_against(const golden_check_options& options) {
  const auto paths = golden_files_at(options.path);
  std::error_code failed;
  if (!paths || !fs::is_directory(options.against, failed)) {
    complain(paths ? options.against.string() + ": must be a folder" : paths.error().message);
    return wrong_input;
  }
  const properties::description user = user_of(options);
  comparison_of_sets found;
  for (const fs::path& path : *paths) {
    const auto file = golden::read_golden_file(path);
    if (!file) {
      complain(file.error().message);
      return wrong_input;
    }
    ++found.files;
    const bool many = options.path != path && path.parent_path() != options.path.lexically_normal() &&
                      fs::exists(options.path / "index.json", failed);
    const fs::path theirs =
        many ? options.against / file->about.set / path.filename() : options.against / path.filename();
    if (!fs::exists(fs::symlink_status(theirs, failed))) {
      fmt::print("{}: missing\n", theirs.string());
      found.missing.push_back(theirs.string());
      continue;
    }
    const auto outputs = golden::outputs_of(file->about, theirs);
    if (!outputs) {
      complain(outputs.error().message);
      ++found.broken;
      continue;
    }
    const auto o = properties::judged(user, file->call, *outputs);
    if (!o.value->passed) fmt::print("{}: a bug: {}\n", theirs.string(), o.message);
    found.wrong += !o.value->passed;
    add(found.parts[{file->about.operation->name, file->about.type}], *file, o);
  }
  for (const std::string& sentence : found.sentences()) fmt::print("- {}\n", sentence);
  fmt::print("{} of {} files right, {} with a bug, {} missing\n",
             found.files - found.missing.size() - found.wrong - found.broken, found.files, found.wrong,
             found.missing.size());
  if (!options.page.empty())
    if (auto ok = formats::replace_file(options.page, to_html(page_of(found, user, options))); !ok) {
      complain(ok.error().message);
      return wrong_input;
    }
  if (found.broken > 0) return wrong_input;
  return found.wrong + found.missing.size() == 0 ? all_passed : check_failed;
}

}  // namespace assay::tools
