#include "properties/harness/implementation.hpp"

#include <algorithm>
#include <iterator>

namespace assay::properties {

bool is_bad_output(fault f) {
  switch (f) {
    case fault::missing_file:
    case fault::bad_file:
    case fault::truncated_file:
    case fault::oversized_file:
    case fault::missing_output:
    case fault::unknown_output:
    case fault::wrong_dtype:
    case fault::wrong_shape:
      return true;
    default:
      return false;
  }
}

const char* name_of(fault f) {
  if (is_bad_output(f)) return "bad output";
  switch (f) {
    case fault::unsupported:
      return "unsupported";
    case fault::error_reply:
      return "error reply";
    case fault::crashed:
      return "crash";
    case fault::exited:
      return "early exit";
    case fault::timed_out:
    case fault::silent_hello:
      return "hang";
    case fault::out_of_memory:
      return "memory limit";
    case fault::closed_stdout:
    case fault::malformed_hello:
    case fault::malformed_reply:
    case fault::wrong_id:
      return "protocol";
    default:
      return "unknown";
  }
}

const char* kind_of(fault f) {
  // In the order of the enumeration.
  constexpr const char* kinds[] = {
      "unsupported",    "error_reply",     "missing_file",    "bad_file",    "truncated_file",
      "oversized_file", "missing_output",  "unknown_output",  "wrong_dtype", "wrong_shape",
      "crash",          "early_exit",      "closed_stdout",   "hang",        "silent_hello",
      "memory_limit",   "malformed_hello", "malformed_reply", "wrong_id"};
  static_assert(std::size(kinds) == static_cast<std::size_t>(fault::wrong_id) + 1);
  return kinds[static_cast<std::size_t>(f)];
}

const std::map<std::string, std::vector<core::attribute>>& description::settings_of(const core::operation& op) const {
  static const std::map<std::string, std::vector<core::attribute>> all_values;
  for (const std::string& declared : {op.name, op.forward_name()})
    if (const auto it = settings.find(declared); it != settings.end()) return it->second;
  return all_values;
}

bool description::offers(const std::string& operation, core::dtype type) const {
  const auto it = operations.find(operation);
  return it != operations.end() && std::find(it->second.begin(), it->second.end(), type) != it->second.end();
}

core::dtype description::compute_dtype(core::dtype storage) const {
  if (const auto it = compute.find(storage); it != compute.end()) return it->second;
  return storage == core::dtype::f16 || storage == core::dtype::bf16 ? core::dtype::f32 : storage;
}

}  // namespace assay::properties
