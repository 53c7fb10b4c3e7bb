// A program in its own process group, with pipes to its standard streams and limits on its resources.
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
  std::uint64_t resident_bytes = std::uint64_t{4} << 30;  ///< limit for all processes of the group together
  std::size_t line_bytes = std::size_t{1} << 20;          ///< limit for a message line
  std::size_t kept_bytes = std::size_t{64} << 10;         ///< how much is kept of stderr, and of other lines on stdout
};

/// Splits words as a POSIX shell would (quotes, variables, ~ and patterns are expanded); an error for anything that
/// needs a shell: | & ; < > ( ) { }, a line break or a command substitution.
core::result<std::vector<std::string>> split_words(const std::string& command);

/// Memory and number of the live processes of a group (zombies are not). Memory is the sum of resident sets, so shared
/// pages count more than once. The time includes zombies, and the children for which a process has waited; the time of
/// a process for which nobody in the group waited is lost.
struct group_usage {
  std::size_t processes = 0;
  std::uint64_t resident_bytes = 0;
  std::chrono::milliseconds computed{0};  ///< CPU time since they were started
};
group_usage usage_of_group(pid_t group);

/// The program `words[0]`, which is searched in PATH as a shell does, but runs without a shell. The destructor leaves
/// no process of its group behind. A program that moves itself to another session escapes this: Linux gives an
/// unprivileged process no way to catch it without side effects on its other children. This class is not thread-safe,
/// but different threads may use different objects.
class child_process {
 public:
  using clock = std::chrono::steady_clock;
  enum class outcome { line, closed, timed_out, slept, out_of_memory, line_too_long };
  /// A call that does not compute may last this many times its limit.
  static constexpr int times_of_sleep = 10;

  static core::result<std::unique_ptr<child_process>> spawn(const std::vector<std::string>& words,
                                                            const child_limits& limits);
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process();

  /// Sends `text` and waits for a line on stdout that begins with '{'. `timed_out`: the processes of the group have
  /// computed for `limit`, and at least that time has passed; so other programs on the machine make no call slower by
  /// this measure. `slept`: they have not computed so long, but ten times the limit has passed; the wait never lasts
  /// longer, whatever the program does with its streams. `closed`: no such line will ever come.
  outcome exchange(std::string_view text, std::string& line, std::chrono::milliseconds limit);

  /// Closes stdin, waits up to `patience` for the program to end, and kills the rest of the group. Returns how the
  /// program ended: its wait status, or -1 if it had to be killed.
  int finish(std::chrono::milliseconds patience);

  [[nodiscard]] pid_t group() const { return pid_; }
  [[nodiscard]] std::string stderr_tail() const { return errors_.text(); }
  /// The output on stdout other than messages.
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
  std::string partial_;  ///< the beginning of a message line that is not complete yet
  bool in_message_ = false, in_log_ = false, too_long_ = false;
  bool reaped_ = false;
  int status_ = -1;
};

}  // namespace assay::transports
