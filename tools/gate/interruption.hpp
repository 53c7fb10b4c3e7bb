// SIGINT and SIGTERM during a run: no process left, no private folder left, and no verdict but on what is known to
// fail.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "golden/formats/temporary_folder.hpp"
#include "reference/core/result.hpp"

namespace assay::tools {

/// Thrown out of the run once a signal came; its exit code is 128 + signal, as a shell reports it.
struct interrupted {
  int signal = 0;
  bool reported = false;  ///< what was judged before
};

/// Holds SIGINT, SIGTERM and SIGPIPE back while it lives and makes $TMPDIR a private folder, which it removes at the end.
/// Once a signal came, every process group that this process has started is killed again and again, so that no
/// wait for a candidate goes on, until the run has unwound by `throw_if_interrupted`; a run that does not within
/// ten seconds is ended on the spot. One at a time, made before any other thread.
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
