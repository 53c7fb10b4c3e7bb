#include "tools/transports/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

extern char** environ;

namespace assay::transports {
namespace {

struct pipe_ends {
  descriptor read, write;
};

// Both ends are above the standard descriptors, which a caller may have closed.
core::result<pipe_ends> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return core::failure(std::string("pipe: ") + std::strerror(errno));
  const descriptor first(ends[0]), second(ends[1]);
  pipe_ends high{descriptor(::fcntl(ends[0], F_DUPFD_CLOEXEC, 3)), descriptor(::fcntl(ends[1], F_DUPFD_CLOEXEC, 3))};
  if (!high.read.open() || !high.write.open()) return core::failure(std::string("pipe: ") + std::strerror(errno));
  return high;
}

void make_nonblocking(const descriptor& d) { ::fcntl(d.get(), F_SETFL, ::fcntl(d.get(), F_GETFL) | O_NONBLOCK); }

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> child_environment() {
  std::vector<std::string> variables{"ASSAY_PROTOCOL=1"};
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("ASSAY_PROTOCOL=")) variables.emplace_back(*entry);
  return variables;
}

// Sets a process group of its own, default signals and an empty signal mask.
void set_attributes(posix_spawnattr_t& attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

}  // namespace

void tail_buffer::append(std::string_view bytes) {
  if (bytes.size() > capacity_) bytes.remove_prefix(bytes.size() - capacity_);
  bytes_ += bytes;
  // Up to twice the capacity is held, so that trimming costs constant time per byte.
  if (bytes_.size() > 2 * capacity_) bytes_.erase(0, bytes_.size() - capacity_);
}

std::string tail_buffer::text() const { return bytes_.substr(bytes_.size() - std::min(bytes_.size(), capacity_)); }

descriptor::descriptor(descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
descriptor& descriptor::operator=(descriptor&& other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}
void descriptor::reset() {
  if (value_ >= 0) ::close(std::exchange(value_, -1));
}

child_process::child_process(pid_t pid, descriptor in, descriptor out, descriptor err, const child_limits& limits)
    : pid_(pid),
      in_(std::move(in)),
      out_(std::move(out)),
      err_(std::move(err)),
      limits_(limits),
      errors_(limits.kept_bytes),
      log_(limits.kept_bytes) {}

core::result<std::unique_ptr<child_process>> child_process::spawn(const std::vector<std::string>& words,
                                                                  const child_limits& limits) {
  ASSAY_EXPECTS(!words.empty());
  auto in = make_pipe(), out = make_pipe(), err = make_pipe();
  for (const auto* made : {&in, &out, &err})
    if (!*made) return tl::make_unexpected(made->error());
  for (const descriptor* ours : {&in->write, &out->read, &err->read}) make_nonblocking(*ours);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, in->read.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, out->write.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, err->write.get(), 2);
  set_attributes(attributes);
  std::vector<std::string> arguments = words, environment = child_environment();
  pid_t pid = -1;
  const int code = ::posix_spawnp(&pid, words.front().c_str(), &actions, &attributes, pointers_to(arguments).data(),
                                  pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return core::failure("cannot start '" + words.front() + "': " + std::strerror(code));
  return std::unique_ptr<child_process>(
      new child_process(pid, std::move(in->write), std::move(out->read), std::move(err->read), limits));
}

}  // namespace assay::transports
