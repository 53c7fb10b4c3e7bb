// The conversation with a child process: its streams, its limits and its end.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

#include "tools/transports/child_process.hpp"

namespace assay::transports {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds tick{50};  // interval of checks on memory, time and the end of the program

// write(2) without SIGPIPE reaching the program: the signal is blocked in this thread meanwhile, and a signal that this
// write has raised is taken back.
ssize_t write_quietly(int to, std::string_view text) {
  sigset_t pipe_signal, before, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t done = ::write(to, text.data(), text.size());
  const int code = errno;
  if (done < 0 && code == EPIPE && !was_pending) {
    const timespec now{};
    while (sigtimedwait(&pipe_signal, nullptr, &now) < 0 && errno == EINTR) continue;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = code;
  return done;
}

// Reads what is there, at most 64 KiB, so that a program that never stops writing cannot block us. Closes the
// descriptor at the end of the stream.
std::string_view read_some(descriptor& from, std::array<char, 65536>& buffer) {
  if (!from.open()) return {};
  ssize_t count = 0;
  do count = ::read(from.get(), buffer.data(), buffer.size());
  while (count < 0 && errno == EINTR);
  if (count > 0) return {buffer.data(), static_cast<std::size_t>(count)};
  if (count == 0 || errno != EAGAIN) from.reset();
  return {};
}

}  // namespace

child_process::~child_process() { finish(milliseconds(0)); }

child_process::outcome child_process::exchange(std::string_view text, std::string& line, milliseconds limit) {
  const clock::time_point began = clock::now(), last_end = began + times_of_sleep * limit;
  clock::time_point next_look = began + std::min(tick, limit);
  std::optional<milliseconds> before;  // empty until the first check: most calls are shorter, and a check costs time
  milliseconds computed{0};
  while (true) {
    if (!messages_.empty()) {
      line = std::move(messages_.front());
      messages_.pop_front();
      return outcome::line;
    }
    if (too_long_) return outcome::line_too_long;
    if (!out_.open()) return outcome::closed;
    const auto now = clock::now();
    if (now >= next_look) {
      next_look = now + tick;
      const group_usage usage = usage_of_group(pid_);
      if (usage.resident_bytes > limits_.resident_bytes) return outcome::out_of_memory;
      // The time of a process that has ended leaves the sum: a decrease counts as 0.
      computed += std::max(usage.computed - before.value_or(usage.computed), milliseconds(0));
      before = usage.computed;
    }
    if (now >= began + limit && computed >= limit) return outcome::timed_out;
    if (now >= last_end) return outcome::slept;
    // A descendant may hold stdout open after the program has ended, so the end of the program is checked too. Output
    // from before its end is read afterwards.
    const bool over = ended();
    pump(text, over ? milliseconds(0) : std::chrono::ceil<milliseconds>(std::min(last_end, next_look) - now));
    if (over && messages_.empty() && !too_long_ && !drain_output()) out_.reset();
  }
}

void child_process::pump(std::string_view& text, milliseconds wait) {
  const bool sending = in_.open() && !text.empty();
  // poll ignores negative descriptors.
  std::array<pollfd, 3> streams{
      {{sending ? in_.get() : -1, POLLOUT, 0}, {out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}}};
  if (::poll(streams.data(), streams.size(), static_cast<int>(std::max(wait, milliseconds(0)).count())) <= 0) return;
  if (streams[0].revents != 0) {
    const ssize_t done = write_quietly(in_.get(), text);
    if (done > 0) text.remove_prefix(static_cast<std::size_t>(done));
    // Nobody reads any more; the other stream shows whether the program has ended.
    if (done < 0 && errno != EAGAIN && errno != EINTR) in_.reset();
  }
  if (streams[1].revents != 0) drain_output();
  if (streams[2].revents != 0) drain_errors();
}

bool child_process::drain_errors() {
  std::array<char, 65536> buffer;
  const std::string_view bytes = read_some(err_, buffer);
  errors_.append(bytes);
  return !bytes.empty();
}

bool child_process::drain_output() {
  std::array<char, 65536> buffer;
  const std::string_view bytes = read_some(out_, buffer);
  take(bytes);
  return !bytes.empty();
}

void child_process::take(std::string_view bytes) {
  while (!bytes.empty() && !too_long_) {
    if (!in_message_ && !in_log_) (bytes.front() == '{' ? in_message_ : in_log_) = true;
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    const bool complete = end != std::string_view::npos;
    bytes.remove_prefix(complete ? end + 1 : bytes.size());
    if (in_log_) {
      log_.append(part);
      if (complete) log_.append("\n");
    } else if (partial_.size() + part.size() > limits_.line_bytes) {
      too_long_ = true;
    } else {
      partial_ += part;
      if (complete) messages_.push_back(std::exchange(partial_, {}));
    }
    if (complete) in_message_ = in_log_ = false;
  }
}

bool child_process::ended() const {
  if (reaped_) return true;
  siginfo_t info{};
  // WNOWAIT: while the program is not reaped, no other process can get its number.
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
}

int child_process::finish(milliseconds patience) {
  if (reaped_) return status_;
  in_.reset();
  std::string_view nothing;
  const auto deadline = clock::now() + patience;
  while (!ended() && clock::now() < deadline) {
    // With both streams closed poll is a plain sleep.
    pump(nothing, milliseconds(10));
    messages_.clear();
  }
  const bool by_itself = ended();
  kill_group();
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  reaped_ = true;
  status_ = by_itself ? status : -1;
  for (int i = 0; i < 64 && drain_errors(); ++i) continue;
  out_.reset();
  err_.reset();
  return status_;
}

// SIGKILL reaches every process of the group at once, but takes a moment to work.
void child_process::kill_group() {
  const auto deadline = clock::now() + std::chrono::seconds(5);
  do {
    ::kill(-pid_, SIGKILL);
    if (usage_of_group(pid_).processes == 0) return;
    std::this_thread::sleep_for(milliseconds(2));
  } while (clock::now() < deadline);
}

}  // namespace assay::transports
