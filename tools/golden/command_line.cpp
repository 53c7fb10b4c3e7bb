#include <CLI/CLI.hpp>

#include "tools/commands.hpp"
#include "tools/formula/formula_options.hpp"
#include "tools/golden/commands.hpp"

namespace assay::tools {

golden_commands::golden_commands(CLI::App& app)
    : group_(app.add_subcommand("golden", "tensors whose every value is proved")),
      make_(group_->add_subcommand("make", "makes a set from a recipe, or all sets from a folder of recipes")),
      check_(group_->add_subcommand("check", "proves every value again; compares your outputs")),
      show_(group_->add_subcommand("show", "what is in a set, or in one file")),
      find_(group_->add_subcommand("find", "the files of an operation, a dtype, a flag")),
      export_(group_->add_subcommand("export", "files as .npy or JSON")),
      kills_(group_->add_subcommand("kills", "which files reveal which wrong implementation")),
      index_(group_->add_subcommand("index", "writes index.json of a folder of sets")) {
  group_->require_subcommand(1);
  make_->add_option("--recipe", making_.recipe,
                    "such as golden/recipes/heinsen.json, or golden/recipes; without one: the families of --formula");
  make_->add_option("--out", making_.out, "a folder that does not exist yet")->required();
  for (CLI::App* command : {make_, check_, show_, find_, export_}) add_formula(*command, formula_);
  check_->add_option("path", checking_.path, "a file, the folder of a set, or a folder of sets")->required();
  check_->add_option("--recipe", checking_.recipe, "the inputs must be those of this recipe, or folder of recipes");
  check_->add_option("--against", checking_.against, "folder of your outputs, to be judged by the set");
  check_->add_option("--page", checking_.page, "writes what --against found as a page, such as golden.html");
  check_
      ->add_option("--arithmetic", checking_.arithmetic,
                   "of your code for f16 and bf16: f32, or storage; without it as the gate takes it")
      ->check(CLI::IsMember({"f32", "storage"}));
  show_->add_option("path", showing_, "folder of a set, or a file")->required();
  find_->add_option("folder", finding_.folder, "a set or a folder of sets")->required();
  find_->add_option("--operation", finding_.operation, "such as heinsen/scan");
  find_->add_option("--dtype", finding_.dtype, "such as f32");
  find_->add_option("--flag", finding_.flags, "such as nan; may be repeated");
  find_->add_option("--setting", finding_.settings, "such as layout=half_split; may be repeated");
  find_->add_option("--reveals", finding_.reveals, "a mutant, such as mutant/drops_nan; may be repeated");
  export_->add_option("path", exporting_.path, "a file, the folder of a set, or a folder of sets")->required();
  export_->add_option("--format", exporting_.format, "npy or json")
      ->check(CLI::IsMember({"npy", "json"}))
      ->capture_default_str();
  export_->add_option("--out", exporting_.out, "a folder")->required();
  kills_->add_option("folder", killing_.folder, "a set or a folder of sets")->required();
  kills_->add_option("--mutant", killing_.mutants, "only this one; may be repeated");
  index_->add_option("folder", indexing_, "a folder of sets")->required();
}

golden_commands::operator bool() const { return group_->parsed(); }

int golden_commands::run() const {
  if (make_->parsed()) return golden_make(making_);
  if (check_->parsed()) return golden_check(checking_);
  if (show_->parsed()) return golden_show(showing_);
  if (find_->parsed()) return golden_find(finding_);
  if (export_->parsed()) return golden_export(exporting_);
  if (kills_->parsed()) return golden_kills(killing_);
  return golden_index(indexing_);
}

}  // namespace assay::tools
