// Up to which length are the digits there?
#pragma once

#include <vector>

#include "properties/harness/case.hpp"
#include "properties/harness/implementation.hpp"
#include "properties/harness/verdict.hpp"

namespace assay::properties {

/// For one number of digits D: the largest n such that |x_i - s_i| <= 10^-D of the scale of s_i (core::error_scales)
/// for all i <= n.
struct horizon_mark {
  int digits = 0;
  std::size_t tokens = 0;
  bool reached_end = false;  ///< still there at the last token measured: the horizon is beyond
};

struct horizon {
  std::size_t measured = 0;            ///< tokens of the sequence
  std::vector<double> error_at_power;  ///< largest error / its scale over the first 2^k tokens, k = 0, 1, ...
  std::vector<horizon_mark> marks;
  value_report judged;  ///< of the whole sequence: a fault that only long sequences show is a bug too
};

/// One long case of the mild family: [1, tokens, 4], or what the implementation declares that is nearest.
test_case horizon_case(const description& about, const core::operation& op, core::dtype type, std::size_t tokens,
                       std::uint64_t seed);

/// Reads all lengths off such a case: the recurrence is causal, so the first n outputs are those of the first n tokens.
/// For forward operations that are recurrent.
tl::expected<horizon, call_failure> measure_horizon(implementation& under_test, const test_case& c);

}  // namespace assay::properties
