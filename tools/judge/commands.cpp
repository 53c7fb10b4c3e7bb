// assay truth and assay judge.
#include "tools/commands.hpp"

#include <fmt/format.h>

#include "reference/oracle.hpp"
#include "tools/command_line.hpp"
#include "tools/judge/judge.hpp"

namespace assay::tools {
namespace {

struct asked_by_command {
  asked_words words{};
  std::vector<std::string> settings{};  ///< "layout=half_split"
  std::string compute{};                ///< "f32", or "angle=f32,product=bf16"
  std::filesystem::path file{};         ///< where the truth goes, or where the outputs are
};

core::result<asked_call> read_asked(const asked_by_command& asked) {
  asked_words words = asked.words;
  const auto settings = settings_from(asked.settings, reference::find_operation(words.operation));
  if (!settings) return tl::make_unexpected(settings.error());
  words.settings = *settings;
  if (asked.compute.find('=') == std::string::npos) {
    if (!asked.compute.empty()) words.compute = asked.compute;
  } else {
    std::vector<std::string> stages;
    for (std::size_t from = 0; from <= asked.compute.size();) {
      const std::size_t end = std::min(asked.compute.find(',', from), asked.compute.size());
      stages.push_back(asked.compute.substr(from, end - from));
      from = end + 1;
    }
    const auto compute = settings_from(stages);
    if (!compute) return tl::make_unexpected(compute.error());
    words.compute = *compute;
  }
  return asked_call_from(words);
}

int write_asked_truth(const asked_by_command& asked) {
  const auto call = read_asked(asked);
  const auto written = call ? write_truth(*call, asked.file) : tl::make_unexpected(call.error());
  if (written) return all_passed;
  complain(written.error().message);
  return wrong_input;
}

int judge_asked(const asked_by_command& asked) {
  const auto call = read_asked(asked);
  const auto found = call ? judge_outputs(*call, asked.file) : tl::make_unexpected(call.error());
  if (!found) {
    complain(found.error().message);
    return wrong_input;
  }
  fmt::print("{}\n", found->words);
  return found->right ? all_passed : check_failed;
}

// The options that say which call it is.
std::shared_ptr<asked_by_command> add_asked_call(CLI::App& command) {
  auto asked = std::make_shared<asked_by_command>();
  command.add_option("operation", asked->words.operation, "such as rope/rotate or rope/rotate:vjp")->required();
  command.add_option("--inputs", asked->words.inputs, "safetensors: the inputs, by their names")->required();
  command.add_option("--dtype", asked->words.dtype, "of the call, where the inputs do not tell");
  command.add_option("--set", asked->settings, "a setting, such as layout=half_split; may be repeated");
  command.add_option("--compute", asked->compute,
                     "the precision of the arithmetic, such as f32, or of stages: angle=f32,product=bf16");
  command.add_option("--class", asked->words.accuracy_class, "within the law of this accuracy class");
  command.add_option("--limit", asked->words.limit, "seconds that the truth may take, as far as that is known before")
      ->check(CLI::PositiveNumber);
  return asked;
}

}  // namespace

command_work truth_command(CLI::App& app) {
  const auto asked = add_asked_call(app);
  app.add_option("--out", asked->file, "safetensors: each output, and NAME:allowed, what it may err by")->required();
  return [asked](const program_options&) { return write_asked_truth(*asked); };
}

command_work judge_command(CLI::App& app) {
  const auto asked = add_asked_call(app);
  app.add_option("--outputs", asked->file, "safetensors: your outputs, by their names")->required();
  app.add_flag("--strict", asked->words.strict, "an error that roundings hardly make is wrong, too");
  return [asked](const program_options&) { return judge_asked(*asked); };
}

}  // namespace assay::tools
