// The numbers with which the verdict compares: the truth of a call and its laws (verdict.hpp declares the public part).
#pragma once

#include "properties/harness/verdict.hpp"
#include "reference/core/parts.hpp"

namespace assay::properties {

/// Whether some algorithm of the operation has a law wider than that of `sequential`.
bool has_wider_laws(const request& call);

/// The truth and the first laws of a call, computed now and not remembered. Thread-safe.
expectation make_expectation(const request& call, const core::precisions& compute);

/// The parts in which a large call with independent lanes is judged; empty for any other call.
std::vector<core::kept_positions> parts_of_large(const request& call);

}  // namespace assay::properties
