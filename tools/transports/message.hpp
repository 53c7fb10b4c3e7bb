// Reads messages of the candidate protocol. Each broken rule throws an exception, which parse_hello and parse_reply
// convert to their error.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "reference/core/dtype.hpp"

namespace assay::transports {

/// A broken rule of a message; it is never thrown out of a public function.
struct malformed {
  std::string rule;
};

/// Throws `malformed`.
void require(bool condition, const std::string& rule);
/// A member of an object; null if it is missing.
const nlohmann::json* member(const nlohmann::json& object, const char* name);
/// Texts of a candidate reach terminals and reports: they are bounded, without control characters.
std::string clean(std::string text, std::size_t longest);
/// Parses one line of strict JSON. Throws `malformed`.
nlohmann::json parse_message(std::string_view line);
/// Throws `malformed`; `where` names the member.
core::dtype parse_dtype(const nlohmann::json& value, const std::string& where);

}  // namespace assay::transports
