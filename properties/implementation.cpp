#include "properties/implementation.hpp"

#include <algorithm>

namespace assay::properties {

const char* name_of(fault f) {
  switch (f) {
    case fault::unsupported:
      return "unsupported";
    case fault::error_reply:
      return "error reply";
    case fault::bad_output:
      return "bad output";
    case fault::crashed:
      return "crash";
    case fault::exited:
      return "early exit";
    case fault::timed_out:
      return "hang";
    case fault::out_of_memory:
      return "memory limit";
    case fault::protocol:
      return "protocol";
  }
  return "unknown";
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
