// Calls of the candidate protocol, as the answering side reads them: the host of libraries, and recordings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "properties/harness/implementation.hpp"
#include "reference/core/result.hpp"

namespace assay::transports {

/// {"id":1,"operation":"heinsen/scan","dtype":"f32","attributes":{},"inputs":"...","outputs":"..."}
struct call_message {
  std::uint64_t id = 0;
  const core::operation* operation = nullptr;
  core::dtype type = core::dtype::f64;
  core::attributes attributes{};
  std::string inputs, outputs;  ///< paths as in the message
};

/// Refuses a line that is no such object, lacks a member, or names an unknown operation or dtype.
core::result<call_message> parse_call(std::string_view line);

/// The answer to a call, as a line of JSON.
std::string call_reply(std::uint64_t id, const tl::expected<void, properties::call_failure>& outcome);

}  // namespace assay::transports
