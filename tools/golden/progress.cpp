#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "tools/golden/commands.hpp"

namespace assay::tools {

golden::progress golden_progress() {
  using clock = std::chrono::steady_clock;
  const bool is_terminal = isatty(STDERR_FILENO) != 0;
  return [is_terminal, began = clock::now(), said = clock::now()](std::size_t files, std::size_t all,
                                                                  double share) mutable {
    const auto now = clock::now();
    if (!is_terminal && now - said < std::chrono::seconds(10)) return;
    said = now;
    const double spent = std::chrono::duration<double>(now - began).count();
    const std::string rest =
        share > 0.0 && share < 1.0 ? fmt::format(", about {:.0f} s to go", spent / share * (1.0 - share)) : "";
    if (is_terminal)
      fmt::print(stderr, "\r{:50}\r{} of {} files{}", "", files, all, rest);
    else
      fmt::print(stderr, "{} of {} files{}\n", files, all, rest);
  };
}

void end_progress() {
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r{:50}\r", "");
}

}  // namespace assay::tools
