// The smoke stage: does the adapter work at all? It tells a broken adapter from broken numerics.
#pragma once

#include <optional>
#include <string>

#include "tools/gate/guarded_candidate.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

inline constexpr const char* nan_flood = "nan_flood";
inline constexpr const char* mild_case = "a mild case of three tokens";

/// Puts a mild case of three tokens to an operation. The fault of one that gave no outputs
/// of the right names, dtypes and shapes; a case that is declined or lies outside the declared domain is no fault.
std::optional<adapter_fault> smoke(guarded_candidate& candidate, const core::operation& op, core::dtype type,
                                   std::uint64_t seed);

}  // namespace assay::tools
