// Threads that take parts of some work in an order, where each part has something to do after the part before it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <thread>

#include "optimized/dispatch.hpp"

namespace assay::optimized {

/// Shares out parts of some work, in whose midst there are turns, of one row or of several. Parts are handed out in
/// their order, and who has one is running: so the one whose turn it is never waits.
class turns {
 public:
  explicit turns(std::size_t rows = 1) : done_(std::make_unique<place[]>(rows)) {}

  /// Calls make(worker) on each of the workers, no more than the threads, and what that gives with each i < count. If
  /// something throws, no further part is begun, those that wait for a turn give up, and the first exception leaves
  /// this function when all have ended. Once for each object.
  template <class Make>
  void share(int threads, std::size_t count, Make make) {
    const std::size_t workers = std::min(static_cast<std::size_t>(threads), count);
    if (workers <= 1) {  // without an operation that all processors see: it would wait for stores around the caches
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

  /// Calls work() as turn `step` of its row, after all turns before it. To be called by the tasks of share alone.
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
