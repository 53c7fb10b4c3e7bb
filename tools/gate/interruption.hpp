// SIGINT and SIGTERM during a run: no process and no private folder may remain. The report keeps what was judged before
// the signal, and its verdict is never "passed".
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "golden/formats/temporary_folder.hpp"
#include "reference/core/result.hpp"

namespace assay::tools {

/// Thrown from the run after a signal; the exit code is 128 + signal, as a shell reports it.
struct interrupted {
  int signal = 0;
  bool reported = false;  ///< whether the results so far were reported
};

/// Blocks SIGINT, SIGTERM and SIGPIPE while it lives. Makes $TMPDIR a private folder, and removes it at the end. After
/// a signal, every process group that this process has started is killed again and again, so that no wait for a
/// candidate continues, until the run has unwound by `throw_if_interrupted`. A run that does not unwind within ten
/// seconds is ended at once. Only one may exist; create it before any other thread.
class interruption {
 public:
  static core::result<std::unique_ptr<interruption>> watch();
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;
  ~interruption();

  void throw_if_interrupted() const;

 private:
  explicit interruption(formats::temporary_folder folder);
  void wait();
  void end_children();

  std::optional<formats::temporary_folder> folder_;
  std::string before_;
  std::atomic<int> signal_{0};
  std::atomic<bool> over_{false};
  std::thread watcher_;
};

}  // namespace assay::tools
