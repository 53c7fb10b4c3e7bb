#include <fmt/format.h>

#include "golden/formats/attributes_json.hpp"
#include "golden/formats/file.hpp"
#include "golden/formats/number_text.hpp"
#include "golden/formats/safetensors.hpp"
#include "tools/commands.hpp"
#include "tools/formula/formula_host.hpp"
#include "tools/golden/commands.hpp"
#include "tools/shared_options.hpp"

namespace assay::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// NumPy has no bf16: its values are written as f32, which holds all of them.
core::dtype exported_type(core::dtype type) { return type == core::dtype::bf16 ? core::dtype::f32 : type; }

const char* npy_type(core::dtype type) {
  switch (type) {
    case core::dtype::f64:
      return "<f8";
    case core::dtype::f32:
      return "<f4";
    case core::dtype::f16:
      return "<f2";
    case core::dtype::i64:
      return "<i8";
    case core::dtype::i32:
      return "<i4";
    default:
      return "|b1";
  }
}

// Format version 1.0 (NumPy Enhancement Proposal 1): magic, length of the header, header padded to a multiple of 64.
core::result<std::string> npy_bytes(const core::tensor& t) {
  const core::tensor as{exported_type(t.type), t.values};
  std::string shape;
  for (const std::size_t size : t.shape()) shape += std::to_string(size) + ", ";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", npy_type(as.type), shape);
  constexpr std::size_t before = 10, step = 64;
  header.resize((before + header.size() + 1 + step - 1) / step * step - before - 1, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() % 256);
  bytes += static_cast<char>(header.size() / 256);
  auto data = formats::tensor_bytes(as);
  if (!data) return data;
  return bytes + header + *data;
}

// Numbers as text that keeps every bit, with the description in the file.
std::string json_text(const golden::golden_file& file) {
  ordered_json tensors = ordered_json::object();
  for (const auto& [name, t] : file.tensors) {
    ordered_json values = ordered_json::array();
    for (const double x : t.values.storage()) values.push_back(formats::number_text(x));
    tensors[name] = {{"dtype", core::name_of(t.type)}, {"shape", t.shape()}, {"values", std::move(values)}};
  }
  const ordered_json whole = {{"schema", "assay-golden-values/1"},
                              {"metadata", golden::metadata_of(file.about)},
                              {"tensors", std::move(tensors)}};
  return whole.dump(1) + "\n";
}

struct export_options {
  fs::path path, out;
  std::string format = "npy";
  formula_options formula{};
};

core::result<void> export_file(const golden::golden_file& file, const export_options& options) {
  const std::string name = file.about.set + "." + file.about.id + "." + std::string(core::name_of(file.about.type));
  if (options.format == "json") return formats::replace_file(options.out / (name + ".json"), json_text(file));
  for (const auto& [tensor, t] : file.tensors) {
    const auto bytes = npy_bytes(t);
    if (!bytes) return tl::make_unexpected(bytes.error());
    std::string part = tensor;  // a file name cannot contain a colon everywhere
    for (char& c : part)
      if (c == ':') c = '-';
    if (auto ok = formats::replace_file(options.out / (name + "." + part + ".npy"), *bytes); !ok) return ok;
  }
  return formats::replace_file(options.out / (name + ".metadata.json"),
                               ordered_json(golden::metadata_of(file.about)).dump(1) + "\n");
}

int export_all(const export_options& options) {
  const auto paths = golden_files_at(options.path);
  core::result<void> done;
  if (!paths) done = tl::make_unexpected(paths.error());
  std::error_code failed;
  fs::create_directories(options.out, failed);
  if (failed) done = core::failure(options.out.string() + ": cannot be created: " + failed.message());
  std::size_t files = 0;
  for (std::size_t i = 0; done && i < paths->size(); ++i) {
    const auto file = golden::read_golden_file((*paths)[i]);
    done = file ? export_file(*file, options) : tl::make_unexpected(file.error());
    ++files;
  }
  if (!done) {
    complain(done.error().message);
    return wrong_input;
  }
  fmt::print("{}: {} files as {}\n", options.out.string(), files, options.format);
  return all_passed;
}

}  // namespace

command_work golden_export_command(CLI::App& app) {
  auto options = std::make_shared<export_options>();
  add_formula(app, options->formula);
  app.add_option("path", options->path, "a file, the folder of a set, or a folder of sets")->required();
  app.add_option("--format", options->format, "npy or json")
      ->check(CLI::IsMember({"npy", "json"}))
      ->capture_default_str();
  app.add_option("--out", options->out, "a folder")->required();
  return [options](const program_options&) {
    return with_formula(options->formula, [&] { return export_all(*options); });
  };
}

}  // namespace assay::tools
