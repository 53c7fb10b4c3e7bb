// A program in a process group of its own, with pipes to its standard streams and limits on what it may take.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reference/core/result.hpp"

namespace assay::transports {

/// The last bytes of a stream.
class tail_buffer {
 public:
  explicit tail_buffer(std::size_t capacity) : capacity_(capacity) {}
  void append(std::string_view bytes);
  [[nodiscard]] std::string text() const;

 private:
  std::size_t capacity_;
  std::string bytes_;
};

/// A file descriptor that closes itself.
class descriptor {
 public:
  explicit descriptor(int value = -1) : value_(value) {}
  descriptor(descriptor&& other) noexcept;
  descriptor& operator=(descriptor&& other) noexcept;
  ~descriptor() { reset(); }
  void reset();
  [[nodiscard]] int get() const { return value_; }
  [[nodiscard]] bool open() const { return value_ >= 0; }

 private:
  int value_;
};

struct child_limits {
  std::uint64_t resident_bytes = std::uint64_t{4} << 30;  ///< of all processes of the group together
  std::size_t line_bytes = std::size_t{1} << 20;          ///< of a message line
  std::size_t kept_bytes = std::size_t{64} << 10;         ///< of stderr, and of stdout's other lines
};

/// Words as a POSIX shell would split them (quotes, variables, ~ and patterns are expanded), or an error
/// for what needs a shell: | & ; < > ( ) { }, a line break or a command substitution.
core::result<std::vector<std::string>> split_words(const std::string& command);

/// Memory and number of the processes of a group that are alive (zombies are not). Memory is the sum of
/// resident sets, so that pages shared between processes count more than once. The time counts zombies too, and the
/// children that a process has waited for; that of a process for which nobody of the group waited is lost.
struct group_usage {
  std::size_t processes = 0;
  std::uint64_t resident_bytes = 0;
  std::chrono::milliseconds computed{0};  ///< CPU time since they were started
};
group_usage usage_of_group(pid_t group);

/// The program `words[0]`, found by PATH as a shell would, run without one. The destructor leaves no process
/// of its group behind. A program that moves itself to another session escapes that: Linux offers an
/// unprivileged process no hold on it that would have no side effect on its other children.
/// Not thread-safe, but different objects may be used by different threads.
class child_process {
 public:
  using clock = std::chrono::steady_clock;
  enum class outcome { line, closed, timed_out, slept, out_of_memory, line_too_long };
  /// As many times its limit a call may last that does not compute.
  static constexpr int times_of_sleep = 10;

  static core::result<std::unique_ptr<child_process>> spawn(const std::vector<std::string>& words,
                                                            const child_limits& limits);
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process();

  /// Sends `text` and waits for a line on stdout that begins with '{'. `timed_out`: the processes of the group have
  /// computed for `limit`, and as much time has passed. A machine that other programs use makes no call slower by this
  /// measure. `slept`: they have not, and ten times the limit has passed; nothing blocks longer, whatever the program
  /// does with its streams. `closed`: no such line will ever come.
  outcome exchange(std::string_view text, std::string& line, std::chrono::milliseconds limit);

  /// Closes stdin, waits up to `patience` for an end, and kills what is left of the group. Says how the
  /// program ended: its wait status, or -1 where it had to be killed.
  int finish(std::chrono::milliseconds patience);

  [[nodiscard]] pid_t group() const { return pid_; }
  [[nodiscard]] std::string stderr_tail() const { return errors_.text(); }
  /// What came on stdout besides messages.
  [[nodiscard]] std::string log_tail() const { return log_.text(); }

 private:
  child_process(pid_t pid, descriptor in, descriptor out, descriptor err, const child_limits& limits);
  void pump(std::string_view& text, std::chrono::milliseconds wait);
  bool drain_errors();
  bool drain_output();
  void take(std::string_view bytes);
  [[nodiscard]] bool ended() const;
  void kill_group();

  pid_t pid_;
  descriptor in_, out_, err_;
  child_limits limits_;
  tail_buffer errors_, log_;
  std::deque<std::string> messages_;
  std::string partial_;  ///< a message line whose end has not come yet
  bool in_message_ = false, in_log_ = false, too_long_ = false;
  bool reaped_ = false;
  int status_ = -1;
};

}  // namespace assay::transports
