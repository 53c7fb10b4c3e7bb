// Faults in how positions are held.
#pragma once

#include "properties/harness/implementation.hpp"

namespace assay::properties {

/// The positions of queries and keys as numbers of a dtype, which no longer tells large ones apart.
inline void round_positions(request& call, core::dtype held) {
  for (const char* name : {"query_position", "key_position"})
    if (const auto p = call.inputs.find(name); p != call.inputs.end())
      for (double& x : p->second.values.storage()) x = core::round_to(held, x);
}

}  // namespace assay::properties
