// A sweep over the ranks of MPI: `mpirun -n K assay explore ...`. The first rank owns the file of the sweep and the
// queue of cells, and measures, too. The others ask it for cells and tell it what they measured. So a shared file
// system is not needed, and a file is written by one process alone.
//
// The program does not need MPI: it loads lib/assay/ranks.so, beside which it is installed, where a launcher has
// started several ranks (mpi_channel.cpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/explore/measure.hpp"

namespace assay::explore {

/// Messages between the ranks of a launch. Calls may come from any thread, but one at a time.
class rank_channel {
 public:
  virtual ~rank_channel() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// The ranks on this machine.
  [[nodiscard]] virtual int neighbours() const = 0;
  virtual void send(int to, const std::string& message) = 0;
  /// Waits for the next message, without using a core. Its sender comes first.
  virtual std::pair<int, std::string> receive() = 0;
};
/// What ranks.so gives as `assay_rank_channel`. Leaves MPI when it is destroyed.
using make_rank_channel = rank_channel*();

/// The ranks that a launcher has started, null where there is one process alone. An error says why they cannot talk.
core::result<std::unique_ptr<rank_channel>> ranks_of_launch();

struct work_for_ranks {
  std::uint64_t index = 0;  ///< of a batch
  std::vector<cell> cells;
};
struct result_of_ranks {
  std::uint64_t index = 0;
  core::result<std::vector<results>> found;
  double seconds = 0;
};

/// The other ranks, as the first sees them: threads that ask. A question is answered before the next is read.
class asking_ranks {
 public:
  /// Waits until each has said which version it is, and how many threads it has.
  asking_ranks(rank_channel& channel, const std::string& version);
  /// Ends those that still ask.
  ~asking_ranks();
  asking_ranks(const asking_ranks&) = delete;
  asking_ranks& operator=(const asking_ranks&) = delete;

  /// Empty, or which rank is of another version.
  [[nodiscard]] const std::string& difference() const { return difference_; }
  /// Threads that will ask again.
  [[nodiscard]] std::size_t threads() const { return threads_; }
  /// The next question, with what was measured before it. Throws std::runtime_error where a rank broke.
  std::optional<result_of_ranks> next();
  void give(const work_for_ranks& batch);
  void end();

 private:
  rank_channel& channel_;
  std::string difference_;
  std::size_t threads_ = 0;
  std::optional<int> asks_;  ///< the rank whose question is not answered yet
};

/// What every other rank does: measures what it is given on so many threads, until there is no more.
void measure_for_first_rank(rank_channel& channel, const std::string& version, std::size_t threads,
                            const std::function<caller()>& make_caller);

}  // namespace assay::explore
