// assay detectability: how small an error the verdict always catches.
#include "properties/support/detectability.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/oracle.hpp"
#include "tools/commands.hpp"

namespace assay::tools {
namespace {

// One output's families, the sharpest first; those without any digit left by name.
std::string row(const core::operation& op, core::dtype type, const std::string& output,
                const std::vector<properties::detectable_error>& all) {
  std::vector<int> known;
  std::string blind;
  std::optional<int> mild;
  for (const auto& e : all) {
    if (e.output != output) continue;
    if (e.log2_error) known.push_back(*e.log2_error);
    if (!e.log2_error) blind += (blind.empty() ? "" : ", ") + e.family;
    if (e.family == "mild") mild = e.log2_error;
  }
  if (known.empty()) return "";
  std::sort(known.begin(), known.end());
  return fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} |\n", op.name, output, core::name_of(type),
                     known.front(), known[known.size() / 2], mild ? std::to_string(*mild) : "-", known.back(), blind);
}

}  // namespace

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
  if (types.empty()) types.assign(std::begin(core::floating_dtypes), std::end(core::floating_dtypes));
  fmt::print(
      "Smallest k such that an error of 2^k u max(1, |x|) in any one element is caught in every case, u of the\n"
      "storage dtype, f16 and bf16 computed in f32. By family of inputs:\n\n"
      "| operation | output | dtype | sharpest | median | mild | loosest | no bound "
      "|\n|---|---|---|---|---|---|---|---|\n");
  for (const core::operation& op : reference::operations())
    for (const core::dtype type : types) {
      const auto all = properties::detectable_errors(op, type, options.seed, options.cases);
      for (const auto& d : op.outputs) fmt::print("{}", row(op, type, d.name, all));
    }
  return all_passed;
}

}  // namespace assay::tools
