// Measures the cells of a sweep that are not yet in its file, on all cores, and on other ranks if there are any.
#pragma once

#include <functional>
#include <vector>

#include "tools/explore/measure.hpp"
#include "tools/explore/ranks.hpp"
#include "tools/explore/store.hpp"

namespace assay::explore {

struct progress_report {
  std::uint64_t done = 0, cells = 0;
  double elapsed = 0, left = 0;  ///< seconds; `left` is estimated
  std::uint64_t elsewhere = 0;   ///< cells of `done` that other ranks measured
};

struct run_settings {
  std::size_t threads = 1;
  /// Called once before the first batch, and after each batch; by one thread at a time.
  std::function<void(const progress_report&)> report_progress = [](const progress_report&) {};
  /// Makes a caller for one thread, with its own programs.
  std::function<caller()> make_caller;
  asking_ranks* ranks = nullptr;  ///< ranks of an MPI launch, which measure too; null: there are none
};

/// A cell for which a candidate gave no outputs, and the reason. It is not in the file: a continued run tries it again.
struct failed_cell {
  cell what;
  std::string why;
};

/// The seconds that batches will take on one core, estimated from a few small cells that it measures.
class time_estimate {
 public:
  time_estimate(const std::vector<cell>& cells, const caller& call);
  [[nodiscard]] double seconds(std::span<const cell> batch) const;

 private:
  std::map<std::string, double> seconds_per_step_;  // by measure
};

/// Cell k of the sweep is measured by shard k mod shards + 1, so that every shard has its part of each grid. Throws if
/// the file cannot be written.
std::vector<failed_cell> run_sweep(const std::vector<cell>& cells, sweep_store& store, const run_settings& settings);

}  // namespace assay::explore
