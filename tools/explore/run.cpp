#include "tools/explore/run.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

namespace assay::explore {
namespace {

using clock = std::chrono::steady_clock;
double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

struct batch {
  std::vector<std::uint64_t> ids;
  std::vector<cell> cells;
  double seconds = 0;  // on one core, estimated
};

// If a run is killed, a batch is lost as a whole: so a batch takes at most about a second, or has one implementation in
// one arithmetic.
void split(batch whole, std::vector<batch>& to) {
  constexpr double most_steps = 3e6;
  std::map<std::string, batch> by_implementation;
  for (std::size_t k = 0; k < whole.cells.size(); ++k) {
    batch& b = by_implementation[whole.cells[k].implementation + " " + whole.cells[k].arithmetic];
    b.ids.push_back(whole.ids[k]);
    b.cells.push_back(whole.cells[k]);
  }
  const auto steps = find_measure(whole.cells.front().measure)->steps;
  bool is_first = true;
  for (auto& [name, b] : by_implementation) {
    if (is_first || steps(to.back().cells) + steps(b.cells) > most_steps) {
      to.push_back(std::move(b));
    } else {
      to.back().ids.insert(to.back().ids.end(), b.ids.begin(), b.ids.end());
      to.back().cells.insert(to.back().cells.end(), b.cells.begin(), b.cells.end());
    }
    is_first = false;
  }
}

std::vector<batch> batches_of(const std::vector<cell>& cells, const sweep_store& store) {
  const std::set<std::uint64_t> done = store.ids();
  const sweep_identity& identity = store.identity();
  std::map<std::string, batch> all;
  for (std::uint64_t id = 0; id < cells.size(); ++id) {
    if (id % identity.shards + 1 != identity.shard || done.contains(id)) continue;
    const cell& c = cells[id];
    batch& b = all[c.measure + " " + find_measure(c.measure)->batch(c)];
    b.ids.push_back(id);
    b.cells.push_back(c);
  }
  std::vector<batch> list;
  for (auto& [text, b] : all) split(std::move(b), list);
  return list;
}

// Hands out batches, the longest first, and collects the results.
class work {
 public:
  work(std::vector<batch> batches, sweep_store& store, const run_settings& settings)
      : batches_(std::move(batches)), store_(store), settings_(settings) {
    for (const batch& b : batches_) {
      report_.cells += b.cells.size();
      seconds_ += b.seconds;
    }
    const std::size_t others = settings_.ranks == nullptr ? 0 : settings_.ranks->threads();
    report_.left = seconds_ / static_cast<double>(settings_.threads + others);
    settings_.report_progress(report_);
  }

  void run() {
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < settings_.threads; ++k)
      threads.emplace_back([this] { guarded([this] { work_on(); }); });
    if (settings_.ranks != nullptr) threads.emplace_back([this] { guarded([this] { serve(*settings_.ranks); }); });
    for (std::thread& t : threads) t.join();
    if (broken_) std::rethrow_exception(broken_);
  }
  [[nodiscard]] std::vector<failed_cell> failed() { return std::move(failed_); }

 private:
  template <class Function>
  void guarded(Function f) {
    try {
      f();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!broken_) broken_ = std::current_exception();
    }
  }
  void work_on() {
    const caller call = settings_.make_caller();
    while (const batch* b = take()) {
      const auto start = clock::now();
      auto found = find_measure(b->cells.front().measure)->run(b->cells, call);
      take_in(*b, std::move(found), seconds_since(start));
    }
  }
  // Serves other ranks until each of their threads knows that there is no more work.
  void serve(asking_ranks& ranks) {
    while (ranks.threads() > 0) {
      if (auto done = ranks.next()) {
        const batch& b = batches_.at(done->index);
        take_in(b, std::move(done->found), done->seconds, b.cells.size());
      }
      if (const batch* b = take())
        ranks.give({static_cast<std::uint64_t>(b - batches_.data()), b->cells});
      else
        ranks.end();
    }
  }
  const batch* take() {
    const std::lock_guard lock(mutex_);
    return broken_ || next_ == batches_.size() ? nullptr : &batches_[next_++];
  }
  void take_in(const batch& b, core::result<std::vector<results>> found, double seconds, std::size_t elsewhere = 0) {
    const std::lock_guard lock(mutex_);
    if (broken_) return;
    if (found) {
      std::vector<measured_cell> all;
      for (std::size_t k = 0; k < b.cells.size(); ++k)
        all.push_back({b.ids[k], b.cells[k], std::move((*found)[k]), seconds / static_cast<double>(b.cells.size())});
      store_.add(all);
    } else {
      for (const cell& c : b.cells) failed_.push_back({c, found.error().message});
    }
    report_.done += b.cells.size();
    report_.elsewhere += elsewhere;
    seconds_done_ += b.seconds;
    report_.elapsed = seconds_since(start_);
    // The estimate, corrected by the time taken so far.
    report_.left = seconds_done_ > 0 ? report_.elapsed * (seconds_ - seconds_done_) / seconds_done_ : 0.0;
    settings_.report_progress(report_);
  }

  std::vector<batch> batches_;
  sweep_store& store_;
  const run_settings& settings_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  double seconds_ = 0, seconds_done_ = 0;  // on one core, estimated before the run
  progress_report report_;
  std::vector<failed_cell> failed_;
  std::exception_ptr broken_;
  clock::time_point start_ = clock::now();
};

}  // namespace

time_estimate::time_estimate(const std::vector<cell>& cells, const caller& call) {
  constexpr std::uint64_t small = 512;
  std::map<std::string, cell> probes;  // the shortest cell of each implementation in each arithmetic
  for (const cell& c : cells) {
    if (is_candidate(c.implementation)) continue;
    cell& probe = probes.try_emplace(c.measure + " " + c.implementation + " " + c.arithmetic, c).first->second;
    if (c.size < probe.size) probe = c;
  }
  std::map<std::string, std::pair<double, double>> seconds_and_steps;
  for (auto& [name, probe] : probes) {
    probe.size = std::min(probe.size, small);
    const auto start = clock::now();
    if (!measure_cell(probe, call)) continue;
    auto& [seconds, steps] = seconds_and_steps[probe.measure];
    seconds += seconds_since(start);
    steps += find_measure(probe.measure)->steps({&probe, 1});
  }
  for (const auto& [name, sum] : seconds_and_steps) seconds_per_step_[name] = sum.first / sum.second;
}

double time_estimate::seconds(std::span<const cell> batch) const {
  const auto it = seconds_per_step_.find(batch.front().measure);
  return (it == seconds_per_step_.end() ? 1e-6 : it->second) * find_measure(batch.front().measure)->steps(batch);
}

std::vector<failed_cell> run_sweep(const std::vector<cell>& cells, sweep_store& store, const run_settings& settings) {
  std::vector<batch> batches = batches_of(cells, store);
  if (!batches.empty()) {
    std::vector<cell> pending;
    for (const batch& b : batches) pending.insert(pending.end(), b.cells.begin(), b.cells.end());
    const time_estimate estimate(pending, settings.make_caller());
    for (batch& b : batches) b.seconds = estimate.seconds(b.cells);
  }
  std::stable_sort(batches.begin(), batches.end(),
                   [](const batch& x, const batch& y) { return x.seconds > y.seconds; });
  work all(std::move(batches), store, settings);
  all.run();
  return all.failed();
}

}  // namespace assay::explore
