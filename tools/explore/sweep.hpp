// A sweep: grids of cells, from a preset or a file in TOML.
//
//   name = "growth"
//   question = "How does the error grow with the length?"
//   include = ["horizon"]             # the grids of other presets, too
//   [[grid]]
//   measure = "scan"                  # assay explore list
//   implementation = ["sequential", "cumsum", "process:./scan"]
//   arithmetic = ["f32", "bf16"]
//   storage = ["same"]                # or formats; may be left out
//   family = ["gates"]                # may be left out
//   decay = [0, 4]                    # may be left out
//   scale = [1]                       # may be left out
//   size = [16, 256, 4096]
//   seed = [1]                        # may be left out
//
// A grid is the product of its lists. A list of one value may be written as the value. In measures of operations,
// family = "each" stands for all operations that are no derivatives, and for their families of inputs with a long axis.
// Then cells that the measure refuses, or that take more than 2^23 steps, are left out, and an operation without a
// width has a scale of 1. implementation = "each" stands for all algorithms of an operation.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tools/explore/cell.hpp"

namespace assay::explore {

struct grid {
  std::string measure;
  std::vector<std::string> implementation, arithmetic, storage{"same"}, family{""};
  std::vector<double> decay{0.0}, scale{1.0};
  std::vector<std::uint64_t> size, seed{1};
  bool drops_unfit_cells = false;  ///< leaves out cells that the measure refuses, or that are expensive
};

struct sweep {
  std::string name, question;
  std::vector<grid> grids;
};

struct preset {
  std::string_view name, text;  ///< TOML
};
/// The presets that ship with Assay: presets/*.toml, in the order of their names.
const std::vector<preset>& presets();

/// Loads a preset by its name, or a file. The error names the preset or file, the line if it is known, and the rule.
core::result<sweep> load_sweep(const std::string& name_or_file);
core::result<sweep> read_sweep(std::string_view text, const std::string& origin);

/// All cells, each once, in the order of the grids; an error if check_cell refuses one.
core::result<std::vector<cell>> cells_of(const sweep& s);

}  // namespace assay::explore
