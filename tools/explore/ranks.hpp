// A sweep over the ranks of MPI: `mpirun -n K assay explore ...`. The first rank owns the sweep's file and the queue of
// cells, and measures too. The others ask it for cells and send it their results. So no shared file system is needed,
// and only one process writes a file.
//
// The program does not need MPI: if a launcher has started several ranks, it loads lib/assay/ranks.so, which is
// installed beside it (mpi_channel.cpp).
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
  /// The number of ranks on this machine.
  [[nodiscard]] virtual int neighbours() const = 0;
  virtual void send(int to, const std::string& message) = 0;
  /// Waits for the next message, without using a core. Returns the sender first.
  virtual std::pair<int, std::string> receive() = 0;
};
/// The type of the function `assay_rank_channel` in ranks.so. The channel leaves MPI when it is destroyed.
using make_rank_channel = rank_channel*();

/// The channel to the ranks that a launcher has started; null if this is the only process. The error says why the ranks
/// cannot communicate.
core::result<std::unique_ptr<rank_channel>> ranks_of_launch();

struct work_for_ranks {
  std::uint64_t index = 0;  ///< index of a batch
  std::vector<cell> cells;
};
struct result_of_ranks {
  std::uint64_t index = 0;
  core::result<std::vector<results>> found;
  double seconds = 0;
};

/// The other ranks, as the first rank sees them: threads that ask for work. The first rank answers a question, by
/// give() or end(), before it reads the next one.
class asking_ranks {
 public:
  /// Waits until each rank has sent its version and its number of threads.
  asking_ranks(rank_channel& channel, const std::string& version);
  /// Ends the ranks that still ask.
  ~asking_ranks();
  asking_ranks(const asking_ranks&) = delete;
  asking_ranks& operator=(const asking_ranks&) = delete;

  /// Empty, or which rank has another version.
  [[nodiscard]] const std::string& difference() const { return difference_; }
  /// The number of threads that will ask again.
  [[nodiscard]] std::size_t threads() const { return threads_; }
  /// Waits for the next question, and returns the results that came with it: none if it is the first question of a
  /// thread. Throws std::runtime_error if a rank failed.
  std::optional<result_of_ranks> next();
  /// Answers the question with work, or with the message that there is no more.
  void give(const work_for_ranks& batch);
  void end();

 private:
  rank_channel& channel_;
  std::string difference_;
  std::size_t threads_ = 0;
  std::optional<int> waiting_rank_;  ///< the rank that still waits for an answer
};

/// The work of every other rank: it measures the cells that it is given, on `threads` threads, until there are no more.
void measure_for_first_rank(rank_channel& channel, const std::string& version, std::size_t threads,
                            const std::function<caller()>& make_caller);

}  // namespace assay::explore
