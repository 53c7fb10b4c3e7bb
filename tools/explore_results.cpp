// The commands of `assay explore` that work on sweeps that are there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "tools/explore/page.hpp"
#include "tools/explore/run.hpp"
#include "tools/explore_commands.hpp"
#include "tools/shared_options.hpp"

namespace assay::tools {
namespace {

int list_sweeps() {
  fmt::print("presets (assay explore --sweep NAME --out DIR):\n");
  for (const explore::preset& p : explore::presets()) {
    const auto s = explore::read_sweep(p.text, std::string(p.name));
    const auto cells = s ? explore::cells_of(*s) : tl::make_unexpected(s.error());
    // A program of some encodings alone (ASSAY_ONLY) cannot measure all of them.
    if (cells)
      fmt::print("  {:<14} {:>5} cells  {}\n", p.name, cells->size(), s->question);
    else
      fmt::print("  {:<14} not with this program: {}\n", p.name, cells.error().message);
  }
  fmt::print("\nmeasures (a file of one's own: tools/explore/README.md):\n");
  for (const explore::measure& m : explore::measures()) {
    fmt::print("  {:<14} {}\n", m.name, m.summary);
    fmt::print("{:17}implementation: {}{}\n", "", fmt::join(m.implementations, ", "),
               m.takes_candidates ? ", or a candidate" : "");
    if (!m.families.empty()) fmt::print("{:17}family: {}\n", "", fmt::join(m.families, ", "));
    for (const auto& [axis, means] : {std::pair{"family", m.family_means},
                                      {"decay", m.decay_means},
                                      {"scale", m.scale_means},
                                      {"size", m.size_means}})
      if (!means.empty()) fmt::print("{:17}{}: {}\n", "", axis, means);
  }
  return all_passed;
}

int merge_sweeps(const std::vector<std::filesystem::path>& shards, const std::filesystem::path& merged) {
  const auto file = merged / sweep_file;
  std::vector<explore::measured_cell> all;
  std::optional<explore::sweep_identity> whole;
  std::set<std::uint64_t> seen;
  for (const auto& folder : shards) {
    const auto store = explore::sweep_store::open(folder / sweep_file);
    if (!store) return refuse(store.error());
    explore::sweep_identity identity = store->identity();
    if (!whole) whole = identity;
    const std::uint64_t index = std::exchange(identity.shard, whole->shard);
    if (const std::string what = explore::difference(*whole, identity); !what.empty())
      return refuse({fmt::format("{}: it is of another run: {}", folder.string(), what)});
    if (!seen.insert(index).second)
      return refuse({fmt::format("{}: shard {}/{} is there twice", folder.string(), index, identity.shards)});
    auto cells = store->cells();
    all.insert(all.end(), std::make_move_iterator(cells.begin()), std::make_move_iterator(cells.end()));
  }
  if (seen.size() != whole->shards || all.size() != whole->cells)
    return refuse({fmt::format("{} of {} shards are there, with {} of {} cells", seen.size(), whole->shards, all.size(),
                               whole->cells)});
  std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.id < y.id; });
  whole->shard = whole->shards = 1;
  std::error_code failed;
  std::filesystem::create_directories(merged, failed);
  try {
    auto store = explore::sweep_store::create(file, *whole);
    if (!store) return refuse(store.error());
    store->add(all);
    store->close();
    explore::write_documents(merged, *whole, all, false);
  } catch (const std::runtime_error& e) {
    return refuse({fmt::format("{}: {}", file.string(), e.what())}, own_fault);
  }
  return all_passed;
}

struct page_options {
  std::filesystem::path sweep, beside;
};

int write_page(const page_options& options, bool figures) {
  const auto store = explore::sweep_store::open(options.sweep / sweep_file);
  if (!store) return refuse(store.error());
  std::vector<explore::measured_cell> others;
  if (!options.beside.empty()) {
    const auto other = explore::sweep_store::open(options.beside / sweep_file);
    if (!other) return refuse(other.error());
    others = other->cells();
  }
  try {
    explore::write_documents(options.sweep, store->identity(), store->cells(), figures, others,
                             options.beside.string());
  } catch (const std::runtime_error& e) {
    return refuse({e.what()}, own_fault);
  }
  fmt::print(stderr, "{}\n", (options.sweep / "index.html").string());
  return all_passed;
}

int print_findings(const std::filesystem::path& sweep) {
  const auto store = explore::sweep_store::open(sweep / sweep_file);
  if (!store) return refuse(store.error());
  fmt::print("{}", explore::findings(store->identity(), store->cells()));
  return all_passed;
}

int measure_again(const std::string& cell) {
  const auto c = explore::read_cell(cell);
  if (!c) return refuse(c.error());
  if (const auto checked = explore::check_cell(*c); !checked) return refuse(checked.error());
  const auto found = explore::measure_cell(*c, calling());
  if (!found) return refuse(found.error(), candidate_broke);
  for (const auto& [name, value] : *found) fmt::print("{:<16} {}\n", name, value);
  return all_passed;
}

}  // namespace

explore::caller calling() {
  auto programs = std::make_shared<std::map<std::string, std::unique_ptr<properties::implementation>>>();
  return [programs](const std::string& specification, const core::request& call) -> core::result<core::tensors> {
    auto& program = (*programs)[specification];
    if (!program) {
      auto started = open_candidate(specification, {});
      if (!started) return core::failure(started.error().message);
      program = std::move(*started);
    }
    if (!program->describe().offers(call.operation->name, call.type))
      return core::failure(fmt::format("it does not offer {} in {}", call.operation->name, core::name_of(call.type)));
    auto out = program->evaluate(call);
    if (!out) return core::failure(out.error().message);
    return std::move(*out);
  };
}

int refuse(const core::error& e, int code) {
  complain(e.message);
  return code;
}

command_work explore_list_command(CLI::App&) {
  return [](const program_options&) { return list_sweeps(); };
}

command_work explore_merge_command(CLI::App& app) {
  auto shards = std::make_shared<std::vector<std::filesystem::path>>();
  auto merged = std::make_shared<std::filesystem::path>();
  app.add_option("shards", *shards, "folders of the sweeps")->required();
  app.add_option("--out", *merged, "folder of the merged sweep")->required();
  return [shards, merged](const program_options&) { return merge_sweeps(*shards, *merged); };
}

command_work explore_page_command(CLI::App& app, bool& figures) {
  auto options = std::make_shared<page_options>();
  app.add_option("sweep", options->sweep, "folder of the sweep")->required();
  app.add_option("--beside", options->beside, "folder of a second sweep, drawn hollow in the same charts");
  app.add_flag("--svg", figures, "every chart as a file for papers, too");
  return [options, &figures](const program_options&) { return write_page(*options, figures); };
}

command_work explore_findings_command(CLI::App& app) {
  auto sweep = std::make_shared<std::filesystem::path>();
  app.add_option("sweep", *sweep, "folder of the sweep")->required();
  return [sweep](const program_options&) { return print_findings(*sweep); };
}

command_work explore_cell_command(CLI::App& app, formula_options& formula) {
  auto cell = std::make_shared<std::string>();
  add_formula(app, formula);
  app.add_option("cell", *cell, "the text of a cell, as the page and the SQLite table `cell` have it")->required();
  return [cell](const program_options&) { return measure_again(*cell); };
}

}  // namespace assay::tools
