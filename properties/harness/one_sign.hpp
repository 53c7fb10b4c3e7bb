// Numbers whose sums cannot cancel. A sum of mean 0 stays small however many terms it has, and hides what a format that
// is too short for it loses: in bf16 the sum of 1000 ones is 256.
#pragma once

#include <vector>

#include "properties/harness/case.hpp"

namespace assay::properties {

/// The name of the family of such inputs.
inline constexpr const char* one_sign = "one_sign";

/// Takes the magnitudes of all finite numbers, or gives all of them that of the first.
void take_signs(core::tensor& t, bool equal);

/// One time in three all numbers of a tensor are equal: sums of equal terms lose most, whatever their order is.
inline bool draws_equal(core::counter_random& random) { return random.one_in(3); }

/// The inputs of one of these families, the signs taken of all that may be positive, and cotangents alike. For
/// operations with real inputs.
family one_sign_family(const std::vector<family>& all);

}  // namespace assay::properties
