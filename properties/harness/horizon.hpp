// The length up to which an implementation keeps its digits.
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
  value_report judged;                 ///< the whole sequence: a fault that only long sequences show is a bug too
};

/// One long case of the mild family: [1, tokens, 4], or the nearest sizes that the implementation declares.
test_case horizon_case(const description& about, const core::operation& op, core::dtype type, std::size_t tokens,
                       std::uint64_t seed);

/// Reads all lengths off such a case: the recurrence is causal, so the first n outputs are those of the first n tokens.
/// Precondition: the operation is forward and recurrent.
tl::expected<horizon, call_failure> measure_horizon(implementation& under_test, const test_case& c);

/// Adds the case `c`, on which `h` was measured, to the check: the reported class must explain the case, and the
/// reported digits must hold for it.
void record_horizon(check_result& r, const test_case& c, const horizon& h);

}  // namespace assay::properties
