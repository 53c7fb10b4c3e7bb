#include <fmt/format.h>

#include <algorithm>

#include "golden/flags.hpp"
#include "golden/index.hpp"
#include "reference/oracle.hpp"
#include "tools/commands.hpp"
#include "tools/formula/formula_host.hpp"
#include "tools/golden/commands.hpp"
#include "tools/shared_options.hpp"

namespace assay::tools {
namespace {

namespace fs = std::filesystem;

bool holds_all(const std::vector<std::string>& wanted, const std::vector<std::string>& there) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& word) {
    return std::find(there.begin(), there.end(), word) != there.end();
  });
}

// "layout=half_split": the value in JSON form, without quotes.
std::vector<std::string> settings_of(const golden::set_file& f) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : f.attributes) {
    const auto* text = std::get_if<std::string>(&value);
    texts.push_back(name + "=" + (text != nullptr ? *text : core::to_string(value)));
  }
  return texts;
}

struct find_options {
  fs::path folder;
  std::string operation{}, dtype{};
  std::vector<std::string> flags{}, settings{}, reveals{};  ///< all of them must hold
  formula_options formula{};
};

// Checks names: a search for a name that does not exist would find nothing, and nobody would know why.
core::result<void> check_words(const find_options& o) {
  if (!o.operation.empty() && reference::find_operation(o.operation) == nullptr)
    return core::failure("unknown operation '" + o.operation + "'; see: assay list operations");
  if (!o.dtype.empty() && !core::dtype_named(o.dtype)) return core::failure("unknown dtype '" + o.dtype + "'");
  for (const std::string& flag : o.flags) {
    std::string known;
    for (const golden::flag& f : golden::flag_meanings) known += (known.empty() ? "" : ", ") + std::string(f.name);
    if (std::none_of(golden::flag_meanings.begin(), golden::flag_meanings.end(),
                     [&](const golden::flag& f) { return f.name == flag; }))
      return core::failure("unknown flag '" + flag + "'; there are " + known);
  }
  return {};
}

// Prints the paths of the files, a line each.
int print_found(const find_options& options) {
  if (const auto ok = check_words(options); !ok) {
    complain(ok.error().message);
    return wrong_input;
  }
  std::vector<fs::path> sets{options.folder};
  std::error_code ignored;
  if (fs::exists(options.folder / golden::index_name, ignored)) sets = golden::sets_in(options.folder);
  std::size_t found = 0;
  for (const fs::path& set : sets) {
    const auto m = golden::read_manifest(set);
    if (!m) {
      complain(m.error().message);
      return wrong_input;
    }
    for (const auto& [f, hash] : m->files) {
      if (!options.operation.empty() && f.operation->name != options.operation) continue;
      if (!options.dtype.empty() && core::name_of(f.type) != options.dtype) continue;
      if (!holds_all(options.flags, f.flags) || !holds_all(options.settings, settings_of(f))) continue;
      if (!options.reveals.empty()) {
        const auto file = golden::read_golden_file(set / f.name());
        if (!file || !holds_all(options.reveals, file->about.reveals)) continue;
      }
      fmt::print("{}\n", (set / f.name()).string());
      ++found;
    }
  }
  return found > 0 ? all_passed : check_failed;
}

}  // namespace

command_work golden_find_command(CLI::App& app) {
  auto options = std::make_shared<find_options>();
  add_formula(app, options->formula);
  app.add_option("folder", options->folder, "a set or a folder of sets")->required();
  app.add_option("--operation", options->operation, "such as heinsen/scan");
  app.add_option("--dtype", options->dtype, "such as f32");
  app.add_option("--flag", options->flags, "such as nan; may be repeated");
  app.add_option("--setting", options->settings, "such as layout=half_split; may be repeated");
  app.add_option("--reveals", options->reveals, "a mutant, such as mutant/drops_nan; may be repeated");
  return [options](const program_options&) {
    return with_formula(options->formula, [&] { return print_found(*options); });
  };
}

}  // namespace assay::tools
