// Threads take parts of some work in an order. A section of each part runs after the same section of the part before
// it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <thread>

#include "optimized/dispatch.hpp"

namespace assay::optimized {

/// Shares parts of some work among threads. A part contains turns, in one row or in several rows. Parts are handed out
/// in their order, and a thread that has a part is running. The part whose turn it is therefore never waits.
class turns {
 public:
  explicit turns(std::size_t rows = 1) : done_(std::make_unique<place[]>(rows)) {}

  /// Calls make(worker) on each worker; there are at most as many workers as threads. Calls the result of make with
  /// each i < count. If a call throws, no further part begins, parts that wait for a turn give up, and the first
  /// exception leaves this function after all workers have ended. Call this function once for each object.
  template <class Make>
  void share(int threads, std::size_t count, Make make) {
    const std::size_t workers = std::min(static_cast<std::size_t>(threads), count);
    if (workers <= 1) {  // this path has no atomic operation, which would wait for stores around the caches
      if (count == 0) return;
      auto task = make(std::size_t{0});
      for (std::size_t i = 0; i < count; ++i) task(i);
      return;
    }
    std::atomic<std::size_t> next = 0;
    for_each_task(threads, workers, [&](std::size_t worker) {
      try {
        auto task = make(worker);
        for (std::size_t i = next++; i < count && !failed_; i = next++) task(i);
      } catch (...) {
        if (!claimed_.test_and_set()) exception_ = std::current_exception();
        failed_ = true;
      }
    });
    if (exception_) std::rethrow_exception(exception_);
  }

  /// Calls work() as turn `step` of its row, after all turns before it. Only the tasks of share may call this function.
  template <class Work>
  void take(std::size_t row, std::size_t step, Work work) {
    std::atomic<std::size_t>& done = done_[row].count;
    for (int spins = 0; done.load(std::memory_order_acquire) != step; ++spins) {
      if (failed_) throw given_up();
      if (spins > 100) std::this_thread::yield();
    }
    work();
    done.store(step + 1, std::memory_order_release);
  }

 private:
  struct given_up {};
  struct alignas(64) place {
    std::atomic<std::size_t> count = 0;
  };
  std::unique_ptr<place[]> done_;
  std::atomic<bool> failed_ = false;
  std::atomic_flag claimed_;
  std::exception_ptr exception_;
};

}  // namespace assay::optimized
