// What the verdict compares with: the truth of a call and its laws (verdict.hpp declares what others may ask).
#pragma once

#include "properties/harness/verdict.hpp"

namespace assay::properties {

/// Whether some algorithm of the operation has a law wider than that of `sequential`.
bool has_wider_laws(const request& call);

/// Truth and first laws of a call, now and remembered nowhere. Thread-safe.
expectation make_expectation(const request& call, const core::precisions& compute);

}  // namespace assay::properties
