// At which sizes calls are answered with an error.
#pragma once

#include <optional>
#include <string>

#include "properties/harness/property.hpp"

namespace assay::properties {

/// "d is less than 4", "d is odd", "n is less than m": the conditions on one axis, or the comparison of two, under
/// which calls like this one are answered with an error. Without them such calls are answered, whether the outputs are
/// right or wrong. Nothing if the call is not answered with an error, or if no such condition holds for fresh calls
/// beside its bound and far from it, with the other sizes of the call and with usual ones. Precondition: the case lies
/// inside the declared domain.
std::optional<std::string> where_unanswered(implementation& under_test, const test_case& c, std::uint64_t seed);

}  // namespace assay::properties
