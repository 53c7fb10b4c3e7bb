#include <fmt/format.h>

#include <set>

#include "golden/formats/file.hpp"
#include "golden/formats/safetensors.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "properties/builtin.hpp"
#include "tools/commands.hpp"
#include "tools/gate/checks.hpp"
#include "tools/gate/verdict.hpp"
#include "tools/transports/protocol.hpp"
#include "tools/transports/recorded.hpp"

namespace assay::tools {
namespace {

using on_call = std::function<void(const properties::request&)>;

// Answers as another implementation does, and shows every call to somebody.
class observed_implementation final : public properties::implementation {
 public:
  observed_implementation(const std::string& builtin, on_call show)
      : answers_(properties::make_builtin(builtin).value()), show_(std::move(show)) {}
  [[nodiscard]] const properties::description& describe() const override { return answers_->describe(); }
  properties::call_result evaluate(const properties::request& call) override {
    show_(call);
    return answers_->evaluate(call);
  }

 private:
  std::unique_ptr<properties::implementation> answers_;
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

// Puts all selected checks to an implementation that passes them.
core::result<void> put_to_checks(properties::implementation& answers, const gate_options& options) {
  const auto selected = select(options);
  if (!selected) return tl::make_unexpected(selected.error());
  gate_report report;
  report.seed = options.seed;
  guarded_candidate candidate(answers, [] {});
  report.candidate = candidate.describe();
  run_checks(candidate, *selected, report);
  if (verdict_of(report) != gate_verdict::passed) return core::failure(answers.describe().name + " failed the checks");
  return {};
}

// Two right implementations that round differently are put to the same checks: what both are asked depends on
// no answer, and that is what a recording can know beforehand.
core::result<std::size_t> export_calls(const gate_options& selected, const std::filesystem::path& folder) {
  std::set<std::string> asked, written;
  observed_implementation first(
      "sequential", [&](const properties::request& call) { asked.insert(transports::call_identity(call)); });
  if (auto ok = put_to_checks(first, selected); !ok) return tl::make_unexpected(ok.error());
  case_writer writer(folder);
  observed_implementation second("tree", [&](const properties::request& call) {
    const std::string identity = transports::call_identity(call);
    if (asked.contains(identity) && written.insert(identity).second) writer.write(call);
  });
  if (auto ok = put_to_checks(second, selected); !ok) return tl::make_unexpected(ok.error());
  return writer.finish();
}

}  // namespace

int cases(const cases_options& options) {
  const auto report = [](const std::string& message) {
    complain(message);
    return wrong_input;
  };
  const auto refuse = [&](const std::string& message) { return report(options.folder.string() + ": " + message); };
  if (const auto valid = select(options.selected); !valid) return report(valid.error().message);
  std::error_code failed;
  // A trailing slash would make the folder beside it one within it.
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

}  // namespace assay::tools
