// assay truth and assay judge.
#include "tools/commands.hpp"

#include <fmt/format.h>

#include "reference/oracle.hpp"
#include "tools/command_line.hpp"
#include "tools/judge/judge.hpp"

namespace assay::tools {
namespace {

struct call_options {
  requested_words words{};
  std::vector<std::string> settings{};  ///< "layout=half_split"
  std::string compute{};                ///< "f32", or "angle=f32,product=bf16"
  std::filesystem::path file{};         ///< where the truth goes, or where the outputs are
};

core::result<requested_call> read_call(const call_options& options) {
  requested_words words = options.words;
  const auto settings = settings_from(options.settings, reference::find_operation(words.operation));
  if (!settings) return tl::make_unexpected(settings.error());
  words.settings = *settings;
  if (options.compute.find('=') == std::string::npos) {
    if (!options.compute.empty()) words.compute = options.compute;
  } else {
    std::vector<std::string> stages;
    for (std::size_t from = 0; from <= options.compute.size();) {
      const std::size_t end = std::min(options.compute.find(',', from), options.compute.size());
      stages.push_back(options.compute.substr(from, end - from));
      from = end + 1;
    }
    const auto compute = settings_from(stages);
    if (!compute) return tl::make_unexpected(compute.error());
    words.compute = *compute;
  }
  return requested_call_from(words);
}

int write_requested_truth(const call_options& options) {
  const auto call = read_call(options);
  const auto written = call ? write_truth(*call, options.file) : tl::make_unexpected(call.error());
  if (written) return all_passed;
  complain(written.error().message);
  return wrong_input;
}

int judge_requested_outputs(const call_options& options) {
  const auto call = read_call(options);
  const auto found = call ? judge_outputs(*call, options.file) : tl::make_unexpected(call.error());
  if (!found) {
    complain(found.error().message);
    return wrong_input;
  }
  fmt::print("{}\n", found->words);
  return found->right ? all_passed : check_failed;
}

// The options that say which call it is.
std::shared_ptr<call_options> add_call_options(CLI::App& command) {
  auto options = std::make_shared<call_options>();
  command.add_option("operation", options->words.operation, "such as rope/rotate or rope/rotate:vjp")->required();
  command.add_option("--inputs", options->words.inputs, "safetensors: the inputs, by their names")->required();
  command.add_option("--dtype", options->words.dtype, "dtype of the call, if the inputs do not decide it");
  command.add_option("--set", options->settings, "a setting, such as layout=half_split; may be repeated");
  command.add_option("--compute", options->compute,
                     "the precision of the arithmetic, such as f32, or of stages: angle=f32,product=bf16");
  command.add_option("--class", options->words.accuracy_class, "within the law of this accuracy class");
  command
      .add_option("--limit", options->words.limit, "seconds that the truth may take, as far as that is known before")
      ->check(CLI::PositiveNumber);
  return options;
}

}  // namespace

command_work truth_command(CLI::App& app) {
  const auto options = add_call_options(app);
  app.add_option("--out", options->file,
                 "safetensors: each output, and NAME:allowed, the error that each of its elements may have")
      ->required();
  return [options](const program_options&) { return write_requested_truth(*options); };
}

command_work judge_command(CLI::App& app) {
  const auto options = add_call_options(app);
  app.add_option("--outputs", options->file, "safetensors: your outputs, by their names")->required();
  app.add_flag("--strict", options->words.strict, "an error that roundings hardly make is wrong, too");
  return [options](const program_options&) { return judge_requested_outputs(*options); };
}

}  // namespace assay::tools
