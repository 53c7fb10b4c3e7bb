#include <fmt/format.h>

#include <algorithm>

#include "golden/formats/json_file.hpp"
#include "golden/index.hpp"
#include "tools/commands.hpp"
#include "tools/formula/formula_host.hpp"
#include "tools/golden/commands.hpp"
#include "tools/golden/families.hpp"
#include "tools/golden/reveal.hpp"
#include "tools/shared_options.hpp"

namespace assay::tools {
namespace {

namespace fs = std::filesystem;

void complain_of(const std::vector<golden::problem>& problems) {
  constexpr std::size_t most = 40;
  for (std::size_t i = 0; i < std::min(most, problems.size()); ++i) complain(problems[i].text);
  if (problems.size() > most) complain(fmt::format("and {} more", problems.size() - most));
}

core::result<std::optional<golden::recipe>> recipe_for(const fs::path& set, const fs::path& given) {
  if (given.empty()) return std::nullopt;
  std::error_code ignored;
  const fs::path file = fs::is_directory(given, ignored)
                            ? given / (fs::weakly_canonical(set, ignored).filename().string() + ".json")
                            : given;
  auto r = golden::read_recipe(file, all_families());
  if (!r) return tl::make_unexpected(r.error());
  return std::optional(std::move(*r));
}

// Checks a set alone and against its recipe.
golden::set_check check_one(const fs::path& set, const fs::path& given, const golden::set_options& options) {
  const auto recipe = recipe_for(set, given);
  if (!recipe) return {{{true, recipe.error().message}}, 0, 0};
  return golden::check_set(set, options, *recipe ? &**recipe : nullptr);
}

golden::set_check check_all(const fs::path& folder, const fs::path& given, const golden::set_options& options) {
  golden::set_check all;
  for (const fs::path& set : golden::sets_in(folder)) {
    golden::set_check one = check_one(set, given, options);
    all.files += one.files;
    all.elements += one.elements;
    std::move(one.problems.begin(), one.problems.end(), std::back_inserter(all.problems));
  }
  if (all.problems.empty()) all.problems = golden::check_index(folder);
  return all;
}

int check(const golden_check_options& options) {
  if (!options.page.empty() && options.against.empty()) {
    complain("--page shows what --against DIR finds: name DIR, too");
    return wrong_input;
  }
  golden::set_options checking;
  checking.report = golden_progress();
  checking.reveal = all_revealed();
  std::error_code ignored;
  golden::set_check found;
  if (!fs::is_directory(options.path, ignored)) {
    if (!options.recipe.empty()) {
      complain("--recipe is for sets: a file alone does not say which recipe it is of");
      return wrong_input;
    }
    found = golden::check_file(options.path, checking);
  } else if (fs::exists(options.path / golden::index_name, ignored)) {
    found = check_all(options.path, options.recipe, checking);
  } else {
    found = check_one(options.path, options.recipe, checking);
  }
  end_progress();
  complain_of(found.problems);
  if (!found.problems.empty())
    return std::any_of(found.problems.begin(), found.problems.end(), [](const auto& p) { return p.malformed; })
               ? wrong_input
               : check_failed;
  fmt::print("{}: {} files, {} elements of outputs, remainders and allowances proved again\n", options.path.string(),
             found.files, found.elements);
  return options.against.empty() ? all_passed : golden_against(options);
}

}  // namespace

command_work golden_check_command(CLI::App& app) {
  auto options = std::make_shared<golden_check_options>();
  add_formula(app, options->formula);
  app.add_option("path", options->path, "a file, the folder of a set, or a folder of sets")->required();
  app.add_option("--recipe", options->recipe, "the inputs must be those of this recipe, or folder of recipes");
  app.add_option("--against", options->against, "folder of your outputs, to be judged by the set");
  app.add_option("--page", options->page, "writes what --against found as a page, such as golden.html");
  app.add_option("--arithmetic", options->arithmetic,
                 "of your code for f16 and bf16: f32, or storage; without it as the gate takes it")
      ->check(CLI::IsMember({"f32", "storage"}));
  return [options](const program_options&) { return with_formula(options->formula, [&] { return check(*options); }); };
}

core::result<std::vector<fs::path>> golden_files_at(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return std::vector{path};
  std::vector<fs::path> sets{path}, files;
  if (fs::exists(path / golden::index_name, ignored)) sets = golden::sets_in(path);
  for (const fs::path& set : sets) {
    const auto m = golden::read_manifest(set);
    if (!m) return tl::make_unexpected(m.error());
    for (const golden::listed_file& f : m->files) files.push_back(set / f.file.name());
  }
  return files;
}

}  // namespace assay::tools
