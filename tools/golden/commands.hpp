// The commands of `assay golden`, one file each, and their command line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "golden/golden_set.hpp"
#include "tools/commands.hpp"

namespace CLI {
class App;
}

namespace assay::tools {

struct golden_make_options {
  /// A recipe and its set, or a folder of recipes and a folder of sets. Without a recipe: the families of the formula.
  std::filesystem::path recipe, out;
};
int golden_make(const golden_make_options& options);

struct golden_check_options {
  std::filesystem::path path;  ///< a file, a set or a folder of sets
  std::filesystem::path recipe, against;
  std::string arithmetic{};      ///< of the user's code, for f16 and bf16; empty: as the gate takes it
  std::filesystem::path page{};  ///< a page of what --against found; empty: none
};
int golden_check(const golden_check_options& options);
/// The user's tensors against a set or a file that has been checked: a bug, or what class?
int golden_against(const golden_check_options& options);

/// What is in a set, or the whole of a file.
int golden_show(const std::filesystem::path& path);

/// Writes index.json of a folder of sets.
int golden_index(const std::filesystem::path& folder);

struct golden_find_options {
  std::filesystem::path folder;
  std::string operation{}, dtype{};
  std::vector<std::string> flags{}, settings{}, reveals{};  ///< all of them must hold
};
/// The paths of the files, a line each; check_failed where there is none.
int golden_find(const golden_find_options& options);

struct golden_export_options {
  std::filesystem::path path, out;
  std::string format = "npy";
};
int golden_export(const golden_export_options& options);

struct golden_kills_options {
  std::filesystem::path folder;
  std::vector<std::string> mutants{};  ///< empty: all
};
/// Which files reveal each mutant; check_failed where none reveals one that is named, or where a wrong answer that
/// knows nothing passes a file.
int golden_kills(const golden_kills_options& options);

/// The files of a set or of a folder of sets, or the file itself.
core::result<std::vector<std::filesystem::path>> golden_files_at(const std::filesystem::path& path);

/// A line on stderr that says how far the work is and how long the rest takes: overwritten on a terminal, else a new
/// one every ten seconds.
golden::progress golden_progress();
/// Ends it.
void end_progress();

class golden_commands {
 public:
  explicit golden_commands(CLI::App& app);
  explicit operator bool() const;
  [[nodiscard]] int run() const;
  /// Of whose operation the sets are; none: of those that are known.
  [[nodiscard]] const asked_formula& formula() const { return formula_; }

 private:
  asked_formula formula_;
  golden_make_options making_;
  golden_check_options checking_;
  golden_find_options finding_;
  golden_export_options exporting_;
  golden_kills_options killing_;
  std::filesystem::path showing_, indexing_;
  CLI::App *group_, *make_, *check_, *show_, *find_, *export_, *kills_, *index_;
};

}  // namespace assay::tools
