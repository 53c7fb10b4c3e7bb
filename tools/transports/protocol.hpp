// The messages of the candidate protocol, version 1: one JSON object on each line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/harness/implementation.hpp"
#include "reference/core/result.hpp"

namespace assay::transports {

/// The answer to a call.
struct reply {
  std::uint64_t id = 0;
  bool ok = false;
  bool unsupported = false;
  std::string text;  ///< the reason or the error
};

std::string hello_request();
/// A call as a line of JSON. Without `attributes` it has the settings of the call, except later settings with their
/// standard values; else exactly these attributes.
std::string call_request(std::uint64_t id, const properties::request& call, const std::filesystem::path& inputs,
                         const std::filesystem::path& outputs);
std::string call_request(std::uint64_t id, const properties::request& call, const core::attributes& attributes,
                         const std::filesystem::path& inputs, const std::filesystem::path& outputs);

/// Both refuse a line that is not the expected message, with an error that names the member. Unknown members are
/// ignored.
core::result<properties::description> parse_hello(std::string_view line);
core::result<reply> parse_reply(std::string_view line);

/// Why a program is no candidate, if it says so in place of its hello: {"error":"..."}.
std::optional<std::string> parse_refusal(std::string_view line);

}  // namespace assay::transports
