// Cases inside a declared domain: what a family draws outside it is moved inside, and its two ends are tried.
#pragma once

#include "properties/harness/case.hpp"

namespace assay::properties {

/// The domain of "state" is that of no input. Moves the finite values of each input that has a domain into it. One case
/// in four keeps what already lies inside as it is; the others hold the lower end, the upper end, or both. Rows of
/// consecutive positions stay consecutive. Where an input holds an infinity or NaN, or no number of its dtype lies
/// inside, the case is left alone.
void steer_into(test_case& c, const input_domains& domains, core::counter_random& random);

}  // namespace assay::properties
