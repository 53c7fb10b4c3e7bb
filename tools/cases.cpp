#include <fmt/format.h>

#include <cmath>
#include <set>

#include "golden/formats/file.hpp"
#include "golden/formats/safetensors.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "properties/builtin.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/formula/formula_host.hpp"
#include "tools/gate/assembly.hpp"
#include "tools/gate/checks.hpp"
#include "tools/shared_options.hpp"
#include "tools/transports/protocol.hpp"
#include "tools/transports/recorded.hpp"

namespace assay::tools {
namespace {

using on_call = std::function<void(const properties::request&)>;

// A right implementation that shows its calls to a callback. It can move every number of its answers to its neighbour:
// calls that depend on an answer then change, and no law with an allowance fails.
class observed_implementation final : public properties::implementation {
 public:
  observed_implementation(bool nudges, on_call show)
      : answers_(properties::make_builtin("sequential").value()), nudges_(nudges), show_(std::move(show)) {
    about_ = answers_->describe();
    about_.recorded = true;  // the checks make the same calls as for a recording
    about_.written_for = core::first_list;
    properties::leave_later_settings(about_, {});
  }
  [[nodiscard]] const properties::description& describe() const override { return about_; }
  properties::call_result evaluate(const properties::request& call) override {
    show_(call);
    properties::call_result outputs = answers_->evaluate(call);
    if (outputs && nudges_)
      for (auto& [name, t] : *outputs)
        for (double& x : t.values.storage()) x = nudged(t.type, x);
    return outputs;
  }

 private:
  static double nudged(core::dtype type, double x) {
    if (!core::is_floating(type) || !std::isfinite(x)) return x;
    const double y = core::next_above(type, x);
    return std::isfinite(y) ? y : core::next_below(type, x);
  }

  std::unique_ptr<properties::implementation> answers_;
  properties::description about_;
  bool nudges_;
  on_call show_;
};

// Writes calls as files and lines.
class case_writer {
 public:
  explicit case_writer(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void write(const properties::request& call) {
    ++count_;
    const std::string inputs = fmt::format("inputs/{}.safetensors", count_),
                      outputs = fmt::format("outputs/{}.safetensors", count_);
    if (!written_) return;
    written_ = formats::write_safetensors(folder_ / inputs, call.inputs);
    lines_ += transports::call_request(count_, call, inputs, outputs);
  }

  core::result<std::size_t> finish() {
    if (!written_) return tl::make_unexpected(written_.error());
    if (auto ok = formats::replace_file(folder_ / "cases.jsonl", lines_); !ok) return tl::make_unexpected(ok.error());
    return count_;
  }

 private:
  std::filesystem::path folder_;
  std::string lines_;
  std::size_t count_ = 0;
  core::result<void> written_;
};

// Runs all selected checks on an implementation.
core::result<void> put_to_checks(properties::implementation& answers, const gate_options& options, bool must_pass) {
  auto selected = select(options);
  if (!selected) return tl::make_unexpected(selected.error());
  selected->goes_on = !must_pass;
  gate_report report = empty_report(options);
  guarded_candidate candidate(answers, [] {});
  report.candidate = candidate.describe();
  std::vector<part_record> parts;
  run_parts(candidate, plan_parts(report.candidate, *selected, {}), *selected, options.seed, {}, parts);
  assemble(options, *selected, parts, {}, report);
  if (must_pass && report.verdict != gate_verdict::passed)
    return core::failure(answers.describe().name + " failed the checks");
  return {};
}

// The checks run on right answers, and on the same answers moved to their neighbours. Calls that occur in both runs
// depend on no answer: a recording can know them beforehand.
core::result<std::size_t> export_calls(const gate_options& selected, const std::filesystem::path& folder) {
  std::set<std::string> seen_calls, written;
  observed_implementation moved(
      true, [&](const properties::request& call) { seen_calls.insert(transports::call_identity(call)); });
  if (auto ok = put_to_checks(moved, selected, false); !ok) return tl::make_unexpected(ok.error());
  case_writer writer(folder);
  observed_implementation right(false, [&](const properties::request& call) {
    const std::string identity = transports::call_identity(call);
    if (seen_calls.contains(identity) && written.insert(identity).second) writer.write(call);
  });
  if (auto ok = put_to_checks(right, selected, true); !ok) return tl::make_unexpected(ok.error());
  return writer.finish();
}

struct cases_options {
  std::filesystem::path folder;
  gate_options selected;  ///< encodings, operations, dtypes, effort, seed and formula
};

int export_cases(const cases_options& options) {
  const auto report = [](const std::string& message) {
    complain(message);
    return wrong_input;
  };
  const auto refuse = [&](const std::string& message) { return report(options.folder.string() + ": " + message); };
  const auto valid = select(options.selected);
  if (!valid) return report(valid.error().message);
  if (const auto fit =
          check_shapes(options.selected, *valid, properties::make_builtin("sequential").value()->describe());
      !fit)
    return report(fit.error().message);
  std::error_code failed;
  // With a trailing slash, the folder beside it would be a folder inside it.
  const std::filesystem::path wanted = (options.folder / "").parent_path();
  if (std::filesystem::exists(wanted, failed) && !std::filesystem::is_empty(wanted, failed))
    return refuse("exists already and is not an empty folder");
  if (const auto parent = wanted.parent_path();
      !parent.empty() && !std::filesystem::create_directories(parent, failed) && failed)
    return refuse(failed.message());
  auto folder = formats::temporary_folder::beside(wanted);
  if (!folder) return report(folder.error().message);
  for (const char* part : {"inputs", "outputs"})
    if (std::filesystem::create_directory(folder->path() / part, failed); failed) return refuse(failed.message());
  const auto count = export_calls(options.selected, folder->path());
  if (!count) return refuse(count.error().message);
  if (*count == 0) return refuse("nothing of the selection can be exported");
  if (auto kept = folder->keep_as(wanted); !kept) return report(kept.error().message);
  fmt::print(
      "{} cases in {}: read the inputs and write the outputs that each line of cases.jsonl names, then\n"
      "assay gate --candidate 'recorded:{}' --seed {} --effort {}, with the same selection\n",
      *count, wanted.string(), wanted.string(), options.selected.seed, options.selected.effort);
  return all_passed;
}

}  // namespace

command_work cases_command(CLI::App& app) {
  auto options = std::make_shared<cases_options>();
  app.add_option("--export", options->folder, "a folder that does not exist yet")->required();
  add_selection(app, options->selected);
  add_formula(app, options->selected.formula);
  return [options](const program_options&) {
    select_own_formula(options->selected);
    return with_formula(options->selected.formula, [&] { return export_cases(*options); });
  };
}

}  // namespace assay::tools
