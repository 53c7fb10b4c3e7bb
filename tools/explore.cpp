#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "reference/oracle.hpp"
#include "tools/commands.hpp"
#include "tools/explore/page.hpp"
#include "tools/explore/run.hpp"
#include "tools/explore/sweep.hpp"
#include "tools/explore_commands.hpp"
#include "tools/formula/formula_options.hpp"
#include "tools/formula/formula_source.hpp"

namespace assay::tools {
namespace {

constexpr const char* file_name = "sweep.sqlite";

// Programs of one thread, by specification.
explore::caller calling(const candidate_limits& limits) {
  auto programs = std::make_shared<std::map<std::string, std::unique_ptr<properties::implementation>>>();
  return [programs, limits](const std::string& specification,
                            const core::request& call) -> core::result<core::tensors> {
    auto& program = (*programs)[specification];
    if (!program) {
      auto started = open_candidate(specification, limits);
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

// With a candidate beside the implementations of every grid that takes candidates, in the arithmetics that it offers.
core::result<void> add_candidate(explore::sweep& sweep, const std::string& candidate, const candidate_limits& limits,
                                 int& code) {
  auto started = open_candidate(candidate, limits);
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
        return !type || !(*started)->describe().offers(m->asks(family), *type);
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

// That this process may use, where so many share the machine.
std::size_t cores_of_process(int processes) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  int cores = static_cast<int>(std::thread::hardware_concurrency()) / processes;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) cores = std::min(cores, CPU_COUNT(&allowed));
  return static_cast<std::size_t>(std::max(1, cores));
}

// A bar on a terminal, else a line every ten seconds.
class progress_line {
 public:
  void tell(const explore::progress_report& r) {
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

int refuse(const core::error& e, int code = wrong_input) {
  complain(e.message);
  return code;
}

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

// The answers in words, on stdout: to the question of the sweep, then to each of its measures.
void tell_answers(const explore::sweep_identity& identity, const std::vector<explore::measured_cell>& cells) {
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

}  // namespace

explore_commands::explore_commands(CLI::App& app)
    : group_(app.add_subcommand("explore", "where, how and why an implementation loses its digits")),
      list_(group_->add_subcommand("list", "presets and measures")),
      merge_(group_->add_subcommand("merge", "the sweeps of all shards as that of one run")),
      measure_(group_->add_subcommand("cell", "measures one cell of a sweep again")),
      page_(group_->add_subcommand("page", "writes the page and the other documents of a sweep again")),
      findings_(group_->add_subcommand("findings", "the measured tables beside the laws, in Markdown")) {
  const CLI::Validator is_shard(
      [](const std::string& text) { return parse_shard(text) ? "" : "must be K/N with 1 <= K <= N, such as 2/7"; },
      "K/N");
  group_->require_subcommand(0, 1);
  group_->add_option(
      "--sweep", sweep_,
      "a preset, or a file in TOML; see: assay explore list. Without it: standard, or the formula's own");
  for (CLI::App* command : {group_, measure_}) add_formula(*command, formula_);
  group_->add_option("--out", out_, "folder of the sweep");
  group_->add_flag("--resume", resume_, "goes on with the sweep in the folder");
  group_->add_option("--candidate", candidate_, "measured beside the implementations of the sweep");
  group_->add_option("--shard", shard_, "K/N: only every N-th cell, from the K-th on")->check(is_shard);
  group_->add_flag("--svg", figures_, "every chart as a file for papers, too");
  page_->add_option("sweep", drawn_, "folder of the sweep")->required();
  page_->add_option("--beside", beside_, "folder of a second sweep, drawn hollow in the same charts");
  page_->add_flag("--svg", figures_, "every chart as a file for papers, too");
  findings_->add_option("sweep", drawn_, "folder of the sweep")->required();
  merge_->add_option("shards", shards_, "folders of the sweeps")->required();
  merge_->add_option("--out", merged_, "folder of the merged sweep")->required();
  measure_->add_option("cell", cell_, "as the page and the table cell have it")->required();
}

explore_commands::operator bool() const { return group_->parsed(); }

int explore_commands::run(int threads) const {
  if (list_->parsed()) return list_sweeps();
  if (merge_->parsed()) return merge();
  if (measure_->parsed()) return cell();
  if (page_->parsed() || findings_->parsed()) return page();
  return launch(threads);
}

// As one process, or as one of the ranks that mpirun has started. Shards are runs of their own there, too.
int explore_commands::launch(int threads) const {
  std::unique_ptr<explore::rank_channel> channel;
  if (shard_.empty()) {
    auto launched = explore::ranks_of_launch();
    if (!launched) return refuse(launched.error());
    channel = std::move(*launched);
  }
  const std::size_t on_threads =
      threads > 0 ? static_cast<std::size_t>(threads) : cores_of_process(channel ? channel->neighbours() : 1);
  if (!channel) return sweep(on_threads, nullptr);
  if (channel->rank() > 0) {
    explore::measure_for_first_rank(*channel, ASSAY_VERSION, on_threads, [this] { return calling(limits_); });
    return all_passed;
  }
  explore::asking_ranks others(*channel, ASSAY_VERSION);
  if (!others.difference().empty()) return refuse({others.difference()});
  return sweep(on_threads, &others);
}

core::result<explore::sweep> explore_commands::asked_sweep() const {
  const judged_formula* formula = formula_of_process();
  if (!sweep_.empty() || formula == nullptr) return explore::load_sweep(sweep_.empty() ? "standard" : sweep_);
  const core::operation& op = *reference::find_operation(formula->operation);
  const auto has = [&](core::axis_role role) { return !core::axis_with(op, role).empty(); };
  const bool has_width = has(core::axis_role::width) || has(core::axis_role::pairs);
  const auto grid = [&](const char* measure, const nlohmann::json& implementations, const char* formats) {
    return fmt::format(
        "[[grid]]\nmeasure = \"{}\"\nimplementation = {}\n{}\nfamily = \"{}\"\nscale = {}\n"
        "size = [16, 32, 64, 128, 256, 512, 1024]\n",
        measure, implementations.dump(), formats, op.name, has_width ? 16 : 1);  // a list in JSON is one in TOML, too
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

int explore_commands::sweep(std::size_t threads, explore::asking_ranks* ranks) const {
  if (out_.empty()) return refuse({"--out is missing: the folder of the sweep"});
  auto wanted = asked_sweep();
  if (!wanted) return refuse(wanted.error());
  int code = wrong_input;
  if (!candidate_.empty())
    if (const auto added = add_candidate(*wanted, candidate_, limits_, code); !added)
      return refuse(added.error(), code);
  const auto cells = explore::cells_of(*wanted);
  if (!cells) return refuse(cells.error());
  const shard part = shard_.empty() ? shard{} : *parse_shard(shard_);
  explore::sweep_identity identity{ASSAY_VERSION, wanted->name,  wanted->question, explore::definition_of(*cells),
                                   candidate_,    cells->size(), part.index,       part.count};
  if (const judged_formula* formula = formula_of_process())
    identity.formula = formula->spec, identity.formula_sha256 = formula->sha256;
  const auto file = out_ / file_name;
  const bool is_there = std::filesystem::exists(file) && !explore::sweep_store::is_blank(file);
  if (is_there && !resume_)
    return refuse({fmt::format("{}: there is a sweep already; --resume goes on with it", file.string())});
  if (!is_there) {
    std::error_code failed;
    std::filesystem::create_directories(out_, failed);
    if (failed) return refuse({fmt::format("{}: {}", out_.string(), failed.message())});
  }
  auto store = is_there ? explore::sweep_store::open(file) : explore::sweep_store::create(file, identity);
  if (!store) return refuse(store.error());
  if (const std::string what = explore::difference(identity, store->identity()); !what.empty())
    return refuse({fmt::format("{}: it cannot be gone on with: {}", file.string(), what)});

  progress_line line;
  std::vector<explore::failed_cell> failed;
  try {
    failed = explore::run_sweep(
        *cells, *store,
        {threads, [&](const auto& report) { line.tell(report); }, [this] { return calling(limits_); }, ranks});
    store->close();
    const auto measured = store->cells();
    explore::write_documents(out_, identity, measured, figures_);
    tell_answers(identity, measured);
    fmt::print(stderr, "{}\n", (out_ / "index.html").string());
  } catch (const std::runtime_error& e) {
    return refuse({fmt::format("{}: {}; what is in the file is kept: --resume goes on", file.string(), e.what())},
                  own_fault);
  }
  return report_failures(failed);
}

int explore_commands::merge() const {
  const auto file = merged_ / file_name;
  std::vector<explore::measured_cell> all;
  std::optional<explore::sweep_identity> whole;
  std::set<std::uint64_t> seen;
  for (const auto& folder : shards_) {
    const auto store = explore::sweep_store::open(folder / file_name);
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
  std::filesystem::create_directories(merged_, failed);
  try {
    auto store = explore::sweep_store::create(file, *whole);
    if (!store) return refuse(store.error());
    store->add(all);
    store->close();
    explore::write_documents(merged_, *whole, all, false);
  } catch (const std::runtime_error& e) {
    return refuse({fmt::format("{}: {}", file.string(), e.what())}, own_fault);
  }
  return all_passed;
}

int explore_commands::page() const {
  const auto store = explore::sweep_store::open(drawn_ / file_name);
  if (!store) return refuse(store.error());
  const auto cells = store->cells();
  if (findings_->parsed()) {
    fmt::print("{}", explore::findings(store->identity(), cells));
    return all_passed;
  }
  std::vector<explore::measured_cell> others;
  if (!beside_.empty()) {
    const auto other = explore::sweep_store::open(beside_ / file_name);
    if (!other) return refuse(other.error());
    others = other->cells();
  }
  try {
    explore::write_documents(drawn_, store->identity(), cells, figures_, others, beside_.string());
  } catch (const std::runtime_error& e) {
    return refuse({e.what()}, own_fault);
  }
  fmt::print(stderr, "{}\n", (drawn_ / "index.html").string());
  return all_passed;
}

int explore_commands::cell() const {
  const auto c = explore::read_cell(cell_);
  if (!c) return refuse(c.error());
  if (const auto checked = explore::check_cell(*c); !checked) return refuse(checked.error());
  const auto found = explore::measure_cell(*c, calling(limits_));
  if (!found) return refuse(found.error(), candidate_broke);
  for (const auto& [name, value] : *found) fmt::print("{:<16} {}\n", name, value);
  return all_passed;
}

}  // namespace assay::tools
