// The program that `--candidate library:PATH` runs: this one, started again with a hidden command.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tools/transports/process.hpp"

namespace assay::transports {

/// The hidden command: speaks the candidate protocol on stdin and stdout for the library at `path`, until stdin ends.
/// Output of the library goes to stderr. Returns the exit code: 0, or 2 if the library cannot be used or the gate did
/// not start the command; the reason goes to stderr.
int host_library(const std::filesystem::path& path);

inline constexpr const char* host_library_command = "host-library";

/// Starts this program as the host of a library. Precondition: the program knows the hidden command.
process_candidate::started start_library(const std::filesystem::path& path, const process_limits& limits = {});

}  // namespace assay::transports
