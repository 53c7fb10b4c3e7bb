// The calls of the candidate protocol as those read them who answer: the host of libraries, and recordings.
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
  std::string inputs, outputs;  ///< paths, as they stand in the message
};

/// Refuses a line that is no such object, misses a member, or names an operation or dtype that is unknown.
core::result<call_message> parse_call(std::string_view line);

/// The answer to it, a line of JSON.
std::string call_reply(std::uint64_t id, const tl::expected<void, properties::call_failure>& outcome);

}  // namespace assay::transports
