#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "golden/formats/json_file.hpp"
#include "golden/formats/partial_folder.hpp"
#include "golden/index.hpp"
#include "properties/harness/case.hpp"
#include "tools/commands.hpp"
#include "tools/formula/formula_host.hpp"
#include "tools/formula/formula_source.hpp"
#include "tools/golden/commands.hpp"
#include "tools/golden/families.hpp"
#include "tools/golden/reveal.hpp"
#include "tools/shared_options.hpp"

namespace assay::tools {
namespace {

namespace fs = std::filesystem;

void print(const fs::path& out, const golden::making& made) {
  fmt::print("{}: {} files, {} elements, {} bytes{}\n", out.string(), made.files, made.elements, made.bytes,
             made.kept > 0 ? fmt::format(", {} files kept of an earlier run", made.kept) : "");
  for (std::size_t rung = 0; rung < made.elements_by_rung.size(); ++rung)
    fmt::print("{} elements proved at {} digits\n", made.elements_by_rung[rung], reference::precision_digits[rung]);
}

core::result<std::vector<golden::recipe>> recipes_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed))
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  if (paths.empty()) return core::failure(folder.string() + ": holds no recipe");
  std::sort(paths.begin(), paths.end());
  std::vector<golden::recipe> all;
  for (const fs::path& path : paths) {
    auto r = golden::read_recipe(path, all_families());
    if (!r) return tl::make_unexpected(r.error());
    if (path.stem() != r->encoding) return core::failure(path.string() + ": must be named " + r->encoding + ".json");
    all.push_back(std::move(*r));
  }
  return all;
}

// Whether an interrupted run has finished this set.
bool is_finished(const fs::path& set, const golden::recipe& r) {
  const auto m = golden::read_manifest(set);
  return m && m->recipe_sha256 == r.sha256;
}

core::result<void> make_all(const std::vector<golden::recipe>& recipes, fs::path out,
                            const golden::set_options& options) {
  out = out.lexically_normal();
  if (!out.has_filename()) out = out.parent_path();
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(out, ignored)))
    return core::failure(out.string() + ": exists already; sets are made in a new folder");
  auto partial = formats::partial_folder::acquire(out);
  if (!partial) return tl::make_unexpected(partial.error());
  std::set<std::string> names{golden::index_name};
  for (const golden::recipe& r : recipes) {
    names.insert(r.encoding);
    const fs::path set = partial->path() / r.encoding;
    if (is_finished(set, r)) {
      fmt::print("{}: kept of an earlier run\n", (out / r.encoding).string());
      continue;
    }
    const auto made = golden::make_set(r, set, options);
    end_progress();
    if (!made) return tl::make_unexpected(made.error());
    print(out / r.encoding, *made);
  }
  if (auto ok = golden::write_index(partial->path()); !ok) return ok;
  return partial->finish(names);
}

// The families of a formula, drawn at the sizes at which it was traced, for it and for its gradient.
core::result<golden::recipe> recipe_of(const judged_formula& formula) {
  nlohmann::json entries = nlohmann::json::array();
  std::set<std::string> seen;
  for (const core::operation& op : reference::operations()) {
    if (!op.name.starts_with("formula/")) continue;
    for (const properties::family& f : properties::families_of(op)) {
      if (!seen.insert(f.name).second) continue;
      entries.push_back(
          {{"family", f.name},
           {"reason", fmt::format("{}; of {}, sha256 {}", f.summary, formula.spec, formula.sha256.substr(0, 12))},
           {"axes", formula.trial_sizes()},
           {"seed", 1U}});
    }
  }
  return golden::recipe_of({{"schema", "assay-golden-recipe/1"},
                            {"encoding", "formula"},
                            {"default", {{"normal", {{"scale", 1}, {"shift", 0}}}}},
                            {"entries", entries}},
                           all_families());
}

struct make_options {
  /// A recipe and its set, or a folder of recipes and a folder of sets. Without a recipe: the families of the formula.
  std::filesystem::path recipe, out;
  formula_options formula{};
};

core::result<golden::recipe> requested_recipe(const make_options& options) {
  const judged_formula* formula = formula_of_process();
  if (!options.recipe.empty()) return golden::read_recipe(options.recipe, all_families());
  if (formula == nullptr) return core::failure("name a --recipe, or a --formula");
  return recipe_of(*formula);
}

int make(const make_options& options) {
  const auto began = std::chrono::steady_clock::now();
  golden::set_options making;
  making.report = golden_progress();
  making.reveal = all_revealed();
  std::error_code ignored;
  core::result<void> done;
  if (fs::is_directory(options.recipe, ignored)) {
    const auto recipes = recipes_in(options.recipe);
    done = recipes ? make_all(*recipes, options.out, making) : tl::make_unexpected(recipes.error());
  } else if (const auto recipe = requested_recipe(options); !recipe) {
    done = tl::make_unexpected(recipe.error());
  } else {
    const auto made = golden::make_set(*recipe, options.out, making);
    end_progress();
    if (made) print(options.out, *made);
    if (!made) done = tl::make_unexpected(made.error());
  }
  if (!done) {
    complain(done.error().message);
    return wrong_input;
  }
  fmt::print("{:.1f} s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  return all_passed;
}

}  // namespace

command_work golden_make_command(CLI::App& app) {
  auto options = std::make_shared<make_options>();
  app.add_option("--recipe", options->recipe,
                 "such as golden/recipes/heinsen.json, or golden/recipes; without one: the families of --formula");
  app.add_option("--out", options->out, "a folder that does not exist yet")->required();
  add_formula(app, options->formula);
  return [options](const program_options&) { return with_formula(options->formula, [&] { return make(*options); }); };
}

command_work golden_index_command(CLI::App& app) {
  auto folder = std::make_shared<fs::path>();
  app.add_option("folder", *folder, "a folder of sets")->required();
  const auto write = [folder]() -> int {
    if (const auto ok = golden::write_index(*folder); !ok) {
      complain(ok.error().message);
      return wrong_input;
    }
    return all_passed;
  };
  return [write](const program_options&) { return with_formula({}, write); };
}

}  // namespace assay::tools
