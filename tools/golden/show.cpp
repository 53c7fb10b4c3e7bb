#include <fmt/format.h>

#include "golden/formats/json_file.hpp"
#include "golden/formats/number_text.hpp"
#include "tools/commands.hpp"
#include "tools/formula/formula_host.hpp"
#include "tools/golden/commands.hpp"
#include "tools/shared_options.hpp"

namespace assay::tools {
namespace {

namespace fs = std::filesystem;

std::string axes_text(const core::axis_sizes& axes) {
  std::string text;
  for (const auto& [symbol, size] : axes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", symbol, size);
  return text;
}

int show_set(const fs::path& folder) {
  const auto m = golden::read_manifest(folder);
  if (!m) {
    complain(m.error().message);
    return wrong_input;
  }
  fmt::print("set {}, version {}, recipe SHA-256 {}\n{:44} {:30} {:5} {:20} {}\n", formats::shown(m->recipe),
             m->version, m->recipe_sha256, "file", "operation", "dtype", "axes", "reason");
  for (const auto& [f, hash] : m->files)
    fmt::print("{:44} {:30} {:5} {:20} {}\n", f.name(), f.operation->name, core::name_of(f.type), axes_text(f.axes),
               formats::shown(f.reason, 200));
  return all_passed;
}

// Prints numbers next to one another: an output with its companions, or one input.
void print_table(const golden::golden_file& file, const std::vector<std::string>& names) {
  const core::tensor& first = file.tensors.at(names.front());
  fmt::print("\n{} {} {}\n{:16}", names.front(), core::name_of(first.type), core::to_string(first.shape()), "");
  for (const std::string& name : names) fmt::print(" {:>24}", name);
  fmt::print("\n");
  for (std::size_t i = 0; i < first.size(); ++i) {
    fmt::print("{:16}", core::index_text(first.shape(), i));
    for (const std::string& name : names)
      fmt::print(" {:>24}", formats::number_text(file.tensors.at(name).values.storage()[i]));
    fmt::print("  {:.9g}\n", first.values.storage()[i]);
  }
}

int show_file(const fs::path& path) {
  const auto file = golden::read_golden_file(path);
  if (!file) {
    complain(file.error().message);
    return wrong_input;
  }
  for (const auto& [key, text] : golden::metadata_of(file->about))
    fmt::print("{:14} {}\n", key, formats::shown(text, 4000));
  const core::operation& op = *file->about.operation;
  for (const auto& d : op.inputs) print_table(*file, {d.name});
  for (const auto& d : op.outputs) {
    std::vector<std::string> names{d.name};
    for (const std::string& name : golden::names_beside(d.name, d.type_in(file->about.type))) names.push_back(name);
    print_table(*file, names);
  }
  return all_passed;
}

struct show_options {
  fs::path path;  ///< of a set, or of a file
  formula_options formula{};
};

}  // namespace

command_work golden_show_command(CLI::App& app) {
  auto options = std::make_shared<show_options>();
  add_formula(app, options->formula);
  app.add_option("path", options->path, "folder of a set, or a file")->required();
  return [options](const program_options&) {
    return with_formula(options->formula, [&] {
      std::error_code ignored;
      return fs::is_directory(options->path, ignored) ? show_set(options->path) : show_file(options->path);
    });
  };
}

}  // namespace assay::tools
