#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <thread>
#include <utility>

#include "reference/oracle.hpp"
#include "tools/commands.hpp"
#include "tools/explore/page.hpp"
#include "tools/explore/run.hpp"
#include "tools/explore/sweep.hpp"
#include "tools/explore_commands.hpp"
#include "tools/formula/formula_host.hpp"
#include "tools/formula/formula_source.hpp"
#include "tools/shared_options.hpp"

namespace assay::tools {
namespace {

struct explore_options {
  formula_options formula{};
  std::string sweep{}, candidate{}, shard{};
  std::filesystem::path out{};
  bool resume = false, figures = false;
};

// Adds a candidate to every grid that takes candidates, beside its implementations, in the arithmetics that it offers.
core::result<void> add_candidate(explore::sweep& sweep, const std::string& candidate, int& code) {
  auto started = open_candidate(candidate, {});
  if (!started) {
    code = started.error().candidate_is_at_fault ? candidate_broke : wrong_input;
    return core::failure(started.error().message);
  }
  code = wrong_input;
  std::vector<explore::grid> added;
  for (const explore::grid& g : sweep.grids) {
    const explore::measure* m = explore::find_measure(g.measure);
    if (m == nullptr || !m->takes_candidates) continue;
    for (const std::string& family : g.family) {
      explore::grid own = g;
      own.implementation = {candidate};
      own.storage = {"same"};
      own.family = {family};
      std::erase_if(own.arithmetic, [&](const std::string& name) {
        const auto type = core::dtype_named(name);
        return !type || !(*started)->describe().offers(m->operation_of(family), *type);
      });
      if (!own.arithmetic.empty()) added.push_back(std::move(own));
    }
  }
  if (added.empty())
    return core::failure(fmt::format("sweep {}: no grid of it asks for what {} offers", sweep.name, candidate));
  sweep.grids.insert(sweep.grids.end(), added.begin(), added.end());
  return {};
}

std::string duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  return fmt::format("{:.0f} min", seconds / 60);
}

// The number of cores that this process may use if `processes` processes share the machine.
std::size_t cores_of_process(int processes) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  int cores = static_cast<int>(std::thread::hardware_concurrency()) / processes;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) cores = std::min(cores, CPU_COUNT(&allowed));
  return static_cast<std::size_t>(std::max(1, cores));
}

// A progress bar on a terminal, else a line every ten seconds.
class progress_line {
 public:
  void show(const explore::progress_report& r) {
    if (!began_) {
      began_ = true;
      fmt::print(stderr, "{} cells, about {}\n", r.cells, duration(r.left));
      return;
    }
    const bool is_end = r.done == r.cells, is_terminal = isatty(STDERR_FILENO) != 0;
    if (is_terminal) {
      constexpr std::size_t width = 30;
      const std::size_t full = r.cells == 0 ? width : width * r.done / r.cells;
      fmt::print(stderr, "\r[{}{}] {}/{} cells, {} left   {}", std::string(full, '#'), std::string(width - full, '.'),
                 r.done, r.cells, duration(r.left), is_end ? "\n" : "");
    } else if (is_end || r.elapsed >= next_) {
      next_ = r.elapsed + 10;
      fmt::print(stderr, "{}/{} cells after {}, about {} left\n", r.done, r.cells, duration(r.elapsed),
                 duration(r.left));
    }
    if (is_end && r.elsewhere > 0) fmt::print(stderr, "{} of them on other ranks\n", r.elsewhere);
  }

 private:
  bool began_ = false;
  double next_ = 10;
};

// The answers in words, on stdout: to the question of the sweep, then to each of its measures.
void print_answers(const explore::sweep_identity& identity, const std::vector<explore::measured_cell>& cells) {
  fmt::print("{}\n", identity.question);
  for (const std::string& answer : explore::answers_of(cells, identity.candidate)) fmt::print("- {}\n", answer);
  fmt::print("\n");
  for (const explore::question& q : explore::questions_of(cells)) {
    fmt::print("{}\n", q.title);
    for (const std::string& sentence : q.sentences) fmt::print("- {}\n", sentence);
  }
}

int report_failures(const std::vector<explore::failed_cell>& failed) {
  if (failed.empty()) return all_passed;
  std::map<std::string, std::size_t> reasons;
  for (const explore::failed_cell& f : failed) ++reasons[f.why];
  for (const auto& [why, count] : reasons) complain(fmt::format("{} cells were not measured: {}", count, why));
  complain("--resume tries them again");
  return candidate_broke;
}

core::result<explore::sweep> requested_sweep(const explore_options& options) {
  const judged_formula* formula = formula_of_process();
  if (!options.sweep.empty() || formula == nullptr)
    return explore::load_sweep(options.sweep.empty() ? "standard" : options.sweep);
  const core::operation& op = *reference::find_operation(formula->operation);
  const auto has = [&](core::axis_role role) { return !core::axis_with(op, role).empty(); };
  const bool has_width = has(core::axis_role::width) || has(core::axis_role::pairs);
  const auto grid = [&](const char* measure, const nlohmann::json& implementations, const char* formats) {
    return fmt::format(
        "[[grid]]\nmeasure = \"{}\"\nimplementation = {}\n{}\nfamily = \"{}\"\nscale = {}\n"
        "size = [16, 32, 64, 128, 256, 512, 1024]\n",
        measure, implementations.dump(), formats, op.name, has_width ? 16 : 1);  // a list in JSON is also one in TOML
  };
  std::string text =
      fmt::format("name = \"{}\"\nquestion = \"How many digits does {} keep, by {} and format?\"\n",
                  explore::formulas_own_sweep, op.name, op.grows_with ? op.grows_with->quantity : "number of tokens");
  text += grid("error", {"each"}, "arithmetic = [\"f32\", \"bf16\"]");
  nlohmann::json narrow{"usual"};
  for (const core::stage_declaration& s : op.stages)
    if (op.stages.size() > 1) narrow.push_back(s.name);
  text += grid("error", narrow, "arithmetic = \"f32\"\nstorage = \"bf16\"");
  if (std::ranges::any_of(op.inputs, [](const core::tensor_declaration& d) { return !d.own_type; }))
    text += grid("sensitivity", {"formula"}, "arithmetic = [\"f32\", \"bf16\"]");
  return explore::read_sweep(text, formula->spec);
}

int sweep(const explore_options& options, std::size_t threads, explore::asking_ranks* ranks) {
  if (options.out.empty()) return refuse({"--out is missing: the folder of the sweep"});
  auto wanted = requested_sweep(options);
  if (!wanted) return refuse(wanted.error());
  int code = wrong_input;
  if (!options.candidate.empty())
    if (const auto added = add_candidate(*wanted, options.candidate, code); !added) return refuse(added.error(), code);
  const auto cells = explore::cells_of(*wanted);
  if (!cells) return refuse(cells.error());
  const shard part = options.shard.empty() ? shard{} : *parse_shard(options.shard);
  explore::sweep_identity identity{ASSAY_VERSION,     wanted->name,  wanted->question, explore::definition_of(*cells),
                                   options.candidate, cells->size(), part.index,       part.count};
  if (const judged_formula* formula = formula_of_process())
    identity.formula = formula->spec, identity.formula_sha256 = formula->sha256;
  const auto file = options.out / sweep_file;
  const bool is_there = std::filesystem::exists(file) && !explore::sweep_store::is_blank(file);
  if (is_there && !options.resume)
    return refuse({fmt::format("{}: there is a sweep already; --resume goes on with it", file.string())});
  if (!is_there) {
    std::error_code failed;
    std::filesystem::create_directories(options.out, failed);
    if (failed) return refuse({fmt::format("{}: {}", options.out.string(), failed.message())});
  }
  auto store = is_there ? explore::sweep_store::open(file) : explore::sweep_store::create(file, identity);
  if (!store) return refuse(store.error());
  if (const std::string what = explore::difference(identity, store->identity()); !what.empty())
    return refuse({fmt::format("{}: it cannot be gone on with: {}", file.string(), what)});

  progress_line line;
  std::vector<explore::failed_cell> failed;
  try {
    failed =
        explore::run_sweep(*cells, *store, {threads, [&](const auto& report) { line.show(report); }, calling, ranks});
    store->close();
    const auto measured = store->cells();
    explore::write_documents(options.out, identity, measured, options.figures);
    print_answers(identity, measured);
    fmt::print(stderr, "{}\n", (options.out / "index.html").string());
  } catch (const std::runtime_error& e) {
    return refuse({fmt::format("{}: {}; what is in the file is kept: --resume goes on", file.string(), e.what())},
                  own_fault);
  }
  return report_failures(failed);
}

// As one process, or as one of the ranks that mpirun has started. Shards are runs of their own there, too.
int launch(const explore_options& options, int threads) {
  std::unique_ptr<explore::rank_channel> channel;
  if (options.shard.empty()) {
    auto launched = explore::ranks_of_launch();
    if (!launched) return refuse(launched.error());
    channel = std::move(*launched);
  }
  const std::size_t on_threads =
      threads > 0 ? static_cast<std::size_t>(threads) : cores_of_process(channel ? channel->neighbours() : 1);
  if (!channel) return sweep(options, on_threads, nullptr);
  if (channel->rank() > 0) {
    explore::measure_for_first_rank(*channel, ASSAY_VERSION, on_threads, calling);
    return all_passed;
  }
  explore::asking_ranks others(*channel, ASSAY_VERSION);
  if (!others.difference().empty()) return refuse({others.difference()});
  return sweep(options, on_threads, &others);
}

}  // namespace

command_work explore_command(CLI::App& app) {
  auto sweep_options = std::make_shared<explore_options>();
  app.require_subcommand(0, 1);
  const command_work subcommand_work = add_commands(
      app, std::array{
               command{"list", "presets and measures", explore_list_command},
               command{"merge", "the sweeps of all shards as that of one run", explore_merge_command},
               command{"cell", "measures one cell of a sweep again",
                       [sweep_options](CLI::App& cell) { return explore_cell_command(cell, sweep_options->formula); }},
               command{"page", "writes the page and the other documents of a sweep again",
                       [sweep_options](CLI::App& page) { return explore_page_command(page, sweep_options->figures); }},
               command{"findings", "the measured tables beside the laws, in Markdown", explore_findings_command}});
  app.add_option("--sweep", sweep_options->sweep,
                 "a preset, or a file in TOML; see: assay explore list. Without it: standard, or the formula's own");
  add_formula(app, sweep_options->formula);
  app.add_option("--out", sweep_options->out, "folder of the sweep");
  app.add_flag("--resume", sweep_options->resume, "goes on with the sweep in the folder");
  app.add_option("--candidate", sweep_options->candidate, "measured beside the implementations of the sweep");
  app.add_option("--shard", sweep_options->shard, "K/N: only every N-th cell, from the K-th on")->check(shard_of_run());
  app.add_flag("--svg", sweep_options->figures, "every chart as a file for papers, too");
  return [sweep_options, subcommand_work, &app](const program_options& options) {
    const auto work = [&] {
      return app.get_subcommands().empty() ? launch(*sweep_options, options.threads) : subcommand_work(options);
    };
    return with_formula(sweep_options->formula, work, true);
  };
}

}  // namespace assay::tools
