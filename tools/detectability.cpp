// assay detectability: the smallest error that the verdict always catches.
#include "properties/harness/detectability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "golden/golden_set.hpp"
#include "properties/harness/blindness.hpp"
#include "reference/oracle.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/shared_options.hpp"

namespace assay::tools {
namespace {

struct detectability_options {
  std::vector<std::string> dtypes{}, operations{};
  std::uint64_t seed = 1;
  std::size_t cases = 8;
  bool usual_sizes = false;
  std::filesystem::path golden{};  ///< a folder of golden sets; empty: none
};

using map_of = std::map<std::pair<const core::operation*, core::dtype>, std::vector<properties::detectable_error>>;

std::string number(const std::optional<int>& k) { return k ? std::to_string(*k) : "-"; }

// The number for the loosest of an operation's outputs; "-" if one has no bound; empty if the family does not apply.
std::string error_of_family(const std::vector<properties::detectable_error>& all, const std::string& family) {
  std::string text;
  int most = 0;
  for (const auto& e : all) {
    if (e.family != family) continue;
    if (!e.log2_error) return "-";
    most = std::max(most, *e.log2_error);
    text = std::to_string(most);
  }
  return text;
}

// Prints the table of one encoding.
void print_by_family(const map_of& map, const std::vector<core::dtype>& types, const std::string& encoding) {
  std::vector<const core::operation*> operations;
  for (const core::operation& op : reference::operations())
    if (op.name.starts_with(encoding + "/")) operations.push_back(&op);
  std::string head = "| family |", rule = "|---|";
  std::vector<std::string> families;
  for (const core::operation* op : operations) {
    head += fmt::format(" `{}` |", op->name.substr(encoding.size() + 1));
    rule += "---|";
    for (const core::dtype t : types)
      for (const auto& e : map.at({op, t}))
        if (std::find(families.begin(), families.end(), e.family) == families.end()) families.push_back(e.family);
  }
  fmt::print("{}:\n\n{}\n{}\n", encoding, head, rule);
  for (const std::string& family : families) {
    fmt::print("| {} |", family);
    for (const core::operation* op : operations) {
      std::string cell;
      for (const core::dtype t : types) cell += " " + error_of_family(map.at({op, t}), family);
      fmt::print("{} |", cell);
    }
    fmt::print("\n");
  }
  fmt::print("\n");
}

// The row of one output: the numbers of its sharpest, median, mild and loosest families, and the names of the families
// without a bound.
std::string row(const core::operation& op, core::dtype type, const std::string& output,
                const std::vector<properties::detectable_error>& all) {
  std::vector<int> known;
  std::string blind;
  for (const auto& e : all) {
    if (e.output != output) continue;
    if (e.log2_error) known.push_back(*e.log2_error);
    if (!e.log2_error) blind += (blind.empty() ? "" : ", ") + e.family;
  }
  if (known.empty()) return "";
  std::sort(known.begin(), known.end());
  const auto mild =
      std::find_if(all.begin(), all.end(), [&](const auto& e) { return e.output == output && e.family == "mild"; });
  return fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} |\n", op.name, output, core::name_of(type),
                     known.front(), known[known.size() / 2], mild == all.end() ? "-" : number(mild->log2_error),
                     known.back(), blind);
}

bool is_requested_operation(const detectability_options& options, const core::operation& op) {
  return options.operations.empty() || std::ranges::find(options.operations, op.name) != options.operations.end();
}

// For each operation and output: the number of tensors, and how many of them allow a multiple of the plain error.
struct wide_tensors {
  std::size_t all = 0, above_50 = 0, above_1000 = 0, above_100000 = 0;
  double most = 0;
  std::string where{};

  void add(double median, const std::string& file) {
    if (!std::isfinite(median)) return;  // plain arithmetic makes no error there
    ++all;
    above_50 += median > 50;
    above_1000 += median > 1000;
    above_100000 += median > 100000;
    if (median > most) most = median, where = file;
  }
};

int blindness_of_golden_sets(const detectability_options& options, const std::vector<core::dtype>& types) {
  std::map<std::string, wide_tensors> by_output;
  wide_tensors total;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options.golden))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  std::ranges::sort(files);
  for (const std::filesystem::path& path : files) {
    const auto file = golden::read_golden_file(path);
    if (!file) {
      complain(path.string() + ": " + file.error().message);
      return wrong_input;
    }
    const core::operation& op = *file->call.operation;
    if (!is_requested_operation(options, op) || std::ranges::find(types, file->call.type) == types.end()) continue;
    for (const properties::blindness& b : properties::blindness_of(file->call, file->call.type)) {
      total.add(b.median, file->about.name());
      by_output[fmt::format("`{}` {}", op.name, b.output)].add(b.median, file->about.name());
    }
  }
  fmt::print(
      "Allowances of golden sets, each tensor's median over the largest error of the formula as it is written:\n\n"
      "| output | tensors | above 50 | above 1000 | above 1e5 | most | in |\n|---|---|---|---|---|---|---|\n");
  const auto print = [](const std::string& name, const wide_tensors& w) {
    fmt::print("| {} | {} | {} | {} | {} | {:.3g} | {} |\n", name, w.all, w.above_50, w.above_1000, w.above_100000,
               w.most, w.where);
  };
  for (const auto& [name, w] : by_output)
    if (w.above_50 > 0) print(name, w);
  print("all", total);
  return all_passed;
}

int blindness_at_usual_sizes(const detectability_options& options, const std::vector<core::dtype>& types) {
  fmt::print(
      "Allowances at usual sizes (one row of 2 heads, 128 x 128, 64 features; 4096 tokens without pairs), over the\n"
      "largest error of the formula as it is written, and the elements for which wrong answers would pass, of those\n"
      "above a thousandth of the largest:\n\n"
      "| operation | output | dtype | plain error | allowed over it: median | most | zero passes | other sign | next "
      "element | suspicious over it: median | zero is not |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const core::operation& op : reference::operations()) {
    if (!is_requested_operation(options, op)) continue;
    for (const core::dtype type : types) {
      const core::precisions compute = properties::description{}.precisions_of(op, type);
      const properties::test_case c = properties::make_case(properties::usual_key(op, type, options.seed));
      for (const properties::blindness& b : properties::blindness_of(c.call, compute))
        fmt::print(
            "| `{}` | {} | {} | {:.2g} | {:.3g} | {:.3g} | {:.1f} % | {:.1f} % | {:.1f} % | {:.3g} | {:.1f} % |\n",
            op.name, b.output, core::name_of(type), b.plain_error, b.median, b.largest, 100 * b.zero,
            100 * b.other_sign, 100 * b.neighbour, b.statistical, 100 * b.zero_unsuspicious);
    }
  }
  return all_passed;
}

// The smallest error that the verdict always catches, by operation, output and dtype, on stdout; or what it lets pass
// at usual sizes, or in golden sets.
int detectability(const detectability_options& options) {
  std::vector<core::dtype> types;
  for (const std::string& name : options.dtypes) {
    const auto t = core::dtype_named(name);
    if (!t || !core::is_floating(*t)) {
      complain("unknown dtype '" + name + "' (there are: f64, f32, f16, bf16)");
      return wrong_input;
    }
    types.push_back(*t);
  }
  if (!options.golden.empty())
    return blindness_of_golden_sets(options, types.empty() ? std::vector{core::dtype::f32, core::dtype::f64} : types);
  if (options.usual_sizes)
    return blindness_at_usual_sizes(options, types.empty() ? std::vector{core::dtype::f32} : types);
  if (types.empty()) types.assign(std::begin(core::floating_dtypes), std::end(core::floating_dtypes));
  map_of map;
  std::string names;
  for (const core::dtype t : types) {
    names += " " + std::string(core::name_of(t));
    for (const core::operation& op : reference::operations())
      map[{&op, t}] = properties::detectable_errors(op, t, options.seed, options.cases);
  }
  fmt::print(
      "Smallest k such that an error of 2^k u of its scale in any one element is caught in every case, u of the\n"
      "storage dtype, f16 and bf16 computed as where nothing is declared (assay list stages). By family of inputs, "
      "the\n"
      "loosest output, in{}; - where no finite error is too large for some case:\n\n",
      names);
  for (const std::string& encoding : reference::encoding_names()) print_by_family(map, types, encoding);
  fmt::print(
      "By output:\n\n| operation | output | dtype | sharpest | median | mild | loosest | no bound |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const auto& op : reference::operations())
    for (const core::dtype t : types)
      for (const auto& d : op.outputs) fmt::print("{}", row(op, t, d.name, map.at({&op, t})));
  return all_passed;
}

}  // namespace

command_work detectability_command(CLI::App& app) {
  auto options = std::make_shared<detectability_options>();
  add_list(app, "--dtype", options->dtypes, "only this dtype");
  add_list(app, "--operation", options->operations, "only this operation");
  app.add_option("--golden", options->golden, "what allowances of golden sets let pass: their folder")
      ->check(CLI::ExistingDirectory);
  app.add_flag("--usual-sizes", options->usual_sizes,
               "how far allowances are beyond plain arithmetic at sizes that people run, and which wrong answers they "
               "let pass (f32)");
  add_seed(app, options->seed);
  add_cases(app, options->cases, "short cases of each family");
  return [options](const program_options&) { return detectability(*options); };
}

}  // namespace assay::tools
