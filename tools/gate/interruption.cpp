#include "tools/gate/interruption.hpp"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace assay::tools {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds tick{50};
constexpr int most_ticks = 200;  // ten seconds

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

// The watched signals, and the one for an output without a reader: writes then fail, and the run continues to its
// report.
sigset_t held_signals() {
  sigset_t set = watched_signals();
  sigaddset(&set, SIGPIPE);
  return set;
}

struct family_ties {
  pid_t parent = -1, group = -1;
};

// Reads /proc/<pid>/stat: the fields after the last ')' are state, parent and group.
family_ties ties_of(const char* pid) {
  std::ifstream file(std::string("/proc/") + pid + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  family_ties ties;
  char state = 0;
  if (name_end != std::string::npos)
    std::sscanf(text.c_str() + name_end + 1, " %c %d %d", &state, &ties.parent, &ties.group);
  return ties;
}

}  // namespace

core::result<std::unique_ptr<interruption>> interruption::watch() {
  auto folder = formats::temporary_folder::make();
  if (!folder) return tl::make_unexpected(folder.error());
  return std::unique_ptr<interruption>(new interruption(std::move(*folder)));
}

interruption::interruption(formats::temporary_folder folder) : folder_(std::move(folder)) {
  if (const char* before = std::getenv("TMPDIR")) before_ = before;
  ::setenv("TMPDIR", folder_->path().c_str(), 1);
  const sigset_t signals = held_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  watcher_ = std::thread([this] { wait(); });
}

interruption::~interruption() {
  over_ = true;
  watcher_.join();
  folder_.reset();  // before a signal can end the program
  before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1);
  // A second signal that came meanwhile would end the program without its exit code.
  if (signal_ != 0) return;
  const sigset_t signals = held_signals();  // from here on SIGPIPE may end a run whose report is written
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void interruption::wait() {
  const sigset_t signals = watched_signals();
  const timespec patience{0, std::chrono::nanoseconds(tick).count()};
  while (!over_ && signal_ == 0) {
    const int came = ::sigtimedwait(&signals, nullptr, &patience);
    if (came > 0) signal_ = came;
  }
  for (int i = 0; !over_; ++i) {
    end_children();
    if (i == most_ticks) {
      std::error_code ignored;
      std::filesystem::remove_all(folder_->path(), ignored);
      ::_exit(128 + signal_);
    }
    std::this_thread::sleep_for(tick);
  }
}

void interruption::end_children() {
  DIR* processes = ::opendir("/proc");
  if (processes == nullptr) return;
  while (const dirent* entry = ::readdir(processes)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    const family_ties ties = ties_of(entry->d_name);
    if (ties.parent == ::getpid() && ties.group > 1 && ties.group != ::getpgrp()) ::kill(-ties.group, SIGKILL);
  }
  ::closedir(processes);
}

void interruption::throw_if_interrupted() const {
  if (const int came = signal_; came != 0) throw interrupted{came};
}

}  // namespace assay::tools
