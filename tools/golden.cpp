#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "golden/compare_set.hpp"
#include "golden/formats/json_file.hpp"
#include "tools/commands.hpp"

namespace assay::tools {
namespace {

// Runs `work` with one line of progress that is overwritten, on a terminal alone.
template <class Work>
auto with_progress(Work work) {
  if (isatty(STDERR_FILENO) == 0) return work(golden::progress());
  auto outcome = work(
      golden::progress([](std::size_t done, std::size_t all) { fmt::print(stderr, "\r{} of {} files", done, all); }));
  fmt::print(stderr, "\r{:40}\r", "");
  return outcome;
}

void complain_of(const std::vector<std::string>& messages) {
  constexpr std::size_t most = 40;
  for (std::size_t i = 0; i < std::min(most, messages.size()); ++i) complain(messages[i]);
  if (messages.size() > most) complain(fmt::format("and {} more", messages.size() - most));
}

std::string axes_text(const core::axis_sizes& axes) {
  std::string text;
  for (const auto& [symbol, size] : axes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", symbol, size);
  return text;
}

void print_row(const golden::comparison& row) {
  const std::string verdict = row.missing ? "missing"
                              : row.wrong == 0
                                  ? "within"
                                  : fmt::format("OUTSIDE: {} of {} elements, the first at {}", row.wrong, row.elements,
                                                core::index_text(row.shape, row.first_wrong));
  fmt::print("{:44} {:10} {:>10.3g} {:>10.3g}  {}\n", row.file, row.output, row.largest_ulp, row.largest_ratio,
             verdict);
}

exit_code compare(const golden_check_options& options) {
  const auto compared = golden::compare_set(options.folder, options.against);
  if (!compared) {
    complain(compared.error().message);
    return wrong_input;
  }
  fmt::print("{:44} {:10} {:>10} {:>10}  {}\n", "file", "output", "ulp", "of allowed", "verdict");
  std::size_t passed = 0;
  for (const golden::comparison& row : compared->rows) {
    print_row(row);
    passed += row.passed();
  }
  fmt::print("{} of {} outputs within what is allowed\n", passed, compared->rows.size());
  complain_of(compared->errors);
  return !compared->errors.empty() ? wrong_input : passed == compared->rows.size() ? all_passed : check_failed;
}

}  // namespace

int golden_make(const golden_make_options& options) {
  const auto began = std::chrono::steady_clock::now();
  const auto recipe = golden::read_recipe(options.recipe);
  if (!recipe) {
    complain(recipe.error().message);
    return wrong_input;
  }
  const auto made = with_progress([&](const auto& report) { return golden::make_set(*recipe, options.out, report); });
  if (!made) {
    complain(made.error().message);
    return wrong_input;
  }
  fmt::print("{}: {} files, {} bytes\n", options.out.string(), made->files, made->bytes);
  for (std::size_t rung = 0; rung < made->at_rung.size(); ++rung)
    fmt::print("{} elements proved at {} digits\n", made->at_rung[rung], reference::precision_digits[rung]);
  fmt::print("{:.1f} s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  return all_passed;
}

int golden_check(const golden_check_options& options) {
  const auto found = with_progress([&](const auto& report) { return golden::check_set(options.folder, report); });
  bool malformed = false;
  std::vector<std::string> messages;
  for (const golden::problem& p : found.problems) {
    messages.push_back(p.text);
    malformed = malformed || p.malformed;
  }
  complain_of(messages);
  if (!found.problems.empty()) return malformed ? wrong_input : check_failed;
  fmt::print("{}: {} files, {} elements of y, y:low and y:allow proved again\n", options.folder.string(), found.files,
             found.elements);
  return options.against.empty() ? all_passed : compare(options);
}

int golden_show(const std::filesystem::path& folder) {
  const auto m = golden::read_manifest(folder);
  if (!m) {
    complain(m.error().message);
    return wrong_input;
  }
  fmt::print("recipe {}, SHA-256 {}\n{:44} {:30} {:5} {:20} {}\n", formats::shown(m->recipe), m->recipe_sha256, "file",
             "operation", "dtype", "axes", "reason");
  for (const golden::set_file& f : m->files)
    fmt::print("{:44} {:30} {:5} {:20} {}\n", f.name(), f.operation->name, core::name_of(f.type), axes_text(f.axes),
               formats::shown(f.reason, 200));
  return all_passed;
}

}  // namespace assay::tools
