// What the verdict compares with: the truth of a call and its laws (verdict.hpp declares what others may ask).
#pragma once

#include "properties/harness/verdict.hpp"
#include "reference/core/parts.hpp"

namespace assay::properties {

/// Whether some algorithm of the operation has a law wider than that of `sequential`.
bool has_wider_laws(const request& call);

/// Truth and first laws of a call, now and remembered nowhere. Thread-safe.
expectation make_expectation(const request& call, const core::precisions& compute);

/// The parts that a large call is judged in, whose lanes are independent; none of another call.
std::vector<core::kept_positions> parts_of_large(const request& call);

}  // namespace assay::properties
