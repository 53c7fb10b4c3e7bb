#include "tools/candidate.hpp"

#include <chrono>

#include "properties/builtin.hpp"
#include "tools/transports/process.hpp"

namespace assay::tools {
namespace {

using opened = tl::expected<std::unique_ptr<properties::implementation>, candidate_error>;

opened start_process(const std::string& command, const candidate_limits& limits) {
  // A command line that is none is the user's mistake, not the candidate's.
  if (const auto words = transports::split_words(command); !words)
    return tl::make_unexpected(candidate_error{false, words.error().message});
  transports::process_limits l;
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  };
  l.hello = milliseconds(limits.start_seconds);
  l.call = milliseconds(limits.case_seconds);
  l.first_call = 4 * l.call;  // just-in-time compilation
  l.child.resident_bytes = limits.memory_bytes;
  auto started = transports::process_candidate::start(command, l);
  if (!started) return tl::make_unexpected(candidate_error{true, started.error().message});
  return std::move(*started);
}

}  // namespace

opened open_candidate(const std::string& spec, const candidate_limits& limits) {
  const auto rest_after = [&](std::string_view scheme) { return spec.substr(scheme.size()); };
  if (spec.starts_with("process:")) return start_process(rest_after("process:"), limits);
  if (spec.starts_with("builtin:")) {
    auto made = properties::make_builtin(rest_after("builtin:"));
    if (!made) return tl::make_unexpected(candidate_error{false, made.error().message});
    return std::move(*made);
  }
  return tl::make_unexpected(
      candidate_error{false, "'" + spec + "' is no candidate: expected builtin:NAME or process:COMMAND"});
}

}  // namespace assay::tools
