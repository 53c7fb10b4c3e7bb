// Up to which length are the digits there?
#pragma once

#include <vector>

#include "properties/harness/case.hpp"
#include "properties/harness/implementation.hpp"
#include "properties/harness/verdict.hpp"

namespace assay::properties {

struct check_result;

struct horizon {
  std::size_t measured = 0;            ///< tokens of the sequence
  std::vector<double> error_at_power;  ///< largest error / its scale over the first 2^k tokens, k = 0, 1, ...
  double largest_error = 0;            ///< the same over all tokens
  value_report judged;  ///< of the whole sequence: a fault that only long sequences show is a bug too
};

/// One long case of the mild family: [1, tokens, 4], or what the implementation declares that is nearest.
test_case horizon_case(const description& about, const core::operation& op, core::dtype type, std::size_t tokens,
                       std::uint64_t seed);

/// Reads all lengths off such a case: the recurrence is causal, so the first n outputs are those of the first n tokens.
/// For forward operations that are recurrent.
tl::expected<horizon, call_failure> measure_horizon(implementation& under_test, const test_case& c);

/// The check's class must explain the case `c`, on which `h` was measured, and its digits must hold there.
void record_horizon(check_result& r, const test_case& c, const horizon& h);

}  // namespace assay::properties
