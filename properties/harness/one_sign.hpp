// Numbers whose sums cannot cancel. A sum of terms with mean 0 stays small however many terms it has. It hides the loss
// in a format with too few digits: in bf16 the sum of 1000 ones is 256.
#pragma once

#include <vector>

#include "properties/harness/case.hpp"

namespace assay::properties {

/// The name of the family of such inputs.
inline constexpr const char* one_sign = "one_sign";

/// Replaces all finite numbers by their magnitudes, or, if `equal`, by the magnitude of the first number: at most 2,
/// and 1 if the first number is 0 or not finite.
void take_signs(core::tensor& t, bool equal);

/// In one case of three all numbers of a tensor are equal: sums of equal terms lose most, in any order.
inline bool draws_equal(core::counter_random& random) { return random.one_in(3); }

/// The inputs of one of these families without their signs, if an input may be positive. Cotangents have no signs
/// either. The family is for operations with real inputs.
family one_sign_family(const std::vector<family>& all);

}  // namespace assay::properties
