// The program that `--candidate library:PATH` runs: this one, started again with a hidden command.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tools/transports/process.hpp"

namespace assay::transports {

/// The hidden command: speaks the candidate protocol on stdin and stdout for the library at `path`, until stdin
/// ends. What the library prints goes to stderr. Returns the exit code: 0, or 2 where the library cannot be used
/// or was not started by the gate; the reason goes to stderr.
int host_library(const std::filesystem::path& path);

inline constexpr const char* host_library_command = "host-library";

/// Starts this program as the host of a library. Precondition: the program knows the hidden command.
process_candidate::started start_library(const std::filesystem::path& path, const process_limits& limits = {});

}  // namespace assay::transports
