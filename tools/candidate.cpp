#include "tools/candidate.hpp"

#include <chrono>
#include <limits>
#include <utility>

#include "properties/builtin.hpp"
#include "tools/transports/library_host.hpp"
#include "tools/transports/near_names.hpp"
#include "tools/transports/process.hpp"
#include "tools/transports/python_host.hpp"
#include "tools/transports/recorded.hpp"

namespace assay::tools {
namespace {

using opened = tl::expected<std::unique_ptr<properties::implementation>, candidate_error>;

tl::unexpected<candidate_error> users_mistake(const core::error& e) {
  return tl::make_unexpected(candidate_error{false, e.message});
}

transports::process_limits process_limits(const candidate_limits& limits) {
  transports::process_limits l;
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  };
  l.hello = milliseconds(limits.start_seconds);
  l.call = milliseconds(limits.case_seconds);
  l.first_call = 4 * l.call;  // the first call may include just-in-time compilation
  l.child.resident_bytes = limits.memory_bytes;
  return l;
}

opened running(transports::process_candidate::started started) {
  if (!started) return tl::make_unexpected(candidate_error{true, started.error().message, started.error().failure});
  return std::move(*started);
}

}  // namespace

double limit_of_calls(const std::string& spec, const candidate_limits& limits) {
  const std::string scheme = spec.substr(0, spec.find(':'));
  const bool in_a_process = scheme == "process" || scheme == "python" || scheme == "library";
  return in_a_process ? limits.case_seconds : std::numeric_limits<double>::infinity();
}

opened open_candidate(const std::string& spec, const candidate_limits& limits) {
  const auto colon = spec.find(':');
  const std::string scheme = spec.substr(0, colon), rest = colon == std::string::npos ? "" : spec.substr(colon + 1);
  if (scheme == "process") {
    // A command line that cannot be parsed is the user's mistake, not the candidate's.
    auto words = transports::split_words(rest);
    if (!words) return users_mistake(words.error());
    return running(transports::process_candidate::start(std::move(*words), rest, process_limits(limits)));
  }
  if (scheme == "python") {
    const auto wanted = transports::parse_python_function(rest);
    if (!wanted) return users_mistake(wanted.error());
    return running(transports::start_python(*wanted, process_limits(limits)));
  }
  if (scheme == "library" && !rest.empty()) return running(transports::start_library(rest, process_limits(limits)));
  if (scheme == "recorded" && !rest.empty()) {
    auto read = transports::recorded_candidate::read(rest);
    if (!read) return users_mistake(read.error());
    return std::move(*read);
  }
  if (scheme == "builtin") {
    auto made = properties::make_builtin(rest);
    if (!made) {
      std::vector<std::string> known;
      for (const properties::builtin& b : properties::builtins()) known.push_back(b.name);
      return users_mistake(
          {made.error().message + " (" + transports::near_in_words(rest, known) + "`assay list builtins` names all)"});
    }
    return std::move(*made);
  }
  return users_mistake({"'" + spec +
                        "' is no candidate: expected builtin:NAME, process:COMMAND, "
                        "python:MODULE:FUNCTION[@OPERATION], library:PATH or recorded:DIR"});
}

}  // namespace assay::tools
