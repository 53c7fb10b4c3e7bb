// Threads that take parts of some work in an order, where each part has something to do after the part before it.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

namespace assay::optimized {

/// Whose turn it is. Whoever has a turn to take must be running: parts are to be handed out in their order, so that the
/// one whose turn it is never waits.
class alignas(64) turns {
 public:
  /// Calls work() as turn `step`, after all turns before it.
  template <class Work>
  void take(std::size_t step, Work work) {
    for (int spins = 0; done_.load(std::memory_order_acquire) != step; ++spins)
      if (spins > 100) std::this_thread::yield();
    work();
    done_.store(step + 1, std::memory_order_release);
  }

 private:
  std::atomic<std::size_t> done_ = 0;
};

}  // namespace assay::optimized
