// Words of a command line, and the resources of a process group according to /proc.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <wordexp.h>

#include <array>
#include <cctype>
#include <cstdio>

#include "tools/transports/child_process.hpp"

namespace assay::transports {
namespace {

struct process_status {
  char state = 'X';
  int group = 0;
  long resident_pages = 0;
  unsigned long user = 0, system = 0;  // clock ticks
  long user_of_children = 0, system_of_children = 0;
};

// The fields of /proc/PID/stat, proc(5). The name in field 2 may contain anything, so fields are counted after its last
// parenthesis.
bool read_status(const char* pid, process_status& to) {
  std::array<char, 1024> text{};
  std::snprintf(text.data(), text.size(), "/proc/%s/stat", pid);
  const descriptor file(::open(text.data(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return false;
  const ssize_t count = ::read(file.get(), text.data(), text.size() - 1);
  if (count <= 0) return false;
  const std::string_view all(text.data(), static_cast<std::size_t>(count));
  const auto name_end = all.rfind(')');
  if (name_end == std::string_view::npos) return false;
  text[static_cast<std::size_t>(count)] = '\0';
  return std::sscanf(text.data() + name_end + 1,
                     " %c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld %*d %*d %*d %*d %*u %*u %ld",
                     &to.state, &to.group, &to.user, &to.system, &to.user_of_children, &to.system_of_children,
                     &to.resident_pages) == 7;
}

}  // namespace

group_usage usage_of_group(pid_t group) {
  group_usage usage;
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  static const long ticks_per_second = ::sysconf(_SC_CLK_TCK);
  long ticks = 0;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return usage;
  while (const dirent* entry = ::readdir(folder)) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    process_status status;
    if (!read_status(entry->d_name, status) || status.group != group) continue;
    ticks += static_cast<long>(status.user + status.system) + status.user_of_children + status.system_of_children;
    if (status.state == 'Z' || status.state == 'X') continue;
    ++usage.processes;
    usage.resident_bytes += static_cast<std::uint64_t>(status.resident_pages) * page;
  }
  ::closedir(folder);
  usage.computed = std::chrono::milliseconds(ticks * 1000 / ticks_per_second);
  return usage;
}

core::result<std::vector<std::string>> split_words(const std::string& command) {
  const auto refuse = [&](const std::string& why) { return core::failure("command '" + command + "': " + why); };
  wordexp_t expansion{};
  const int code = ::wordexp(command.c_str(), &expansion, WRDE_NOCMD);
  // The structure owns memory only after success and WRDE_NOSPACE.
  std::vector<std::string> words;
  if (code == 0) words.assign(expansion.we_wordv, expansion.we_wordv + expansion.we_wordc);
  if (code == 0 || code == WRDE_NOSPACE) ::wordfree(&expansion);
  switch (code) {
    case 0:
      break;
    case WRDE_BADCHAR:
      return refuse("needs a shell for one of | & ; < > ( ) { } or a line break (quote it, or use sh -c)");
    case WRDE_CMDSUB:
      return refuse("command substitution is not done here");
    case WRDE_SYNTAX:
      return refuse("has an unmatched quote or parenthesis");
    default:
      return refuse("cannot be split into words");
  }
  if (words.empty() || words.front().empty()) return refuse("names no program");
  return words;
}

}  // namespace assay::transports
