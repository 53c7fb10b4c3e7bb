// Calls that are answered with an error: for which sizes.
#pragma once

#include <optional>
#include <string>

#include "properties/harness/property.hpp"

namespace assay::properties {

/// "d is less than 4", "d is odd": the conditions on one axis with which calls like this one are answered with an
/// error, and without which they are answered, be it with right outputs or wrong ones. Nothing where the call is not
/// answered with an error, or where no such condition holds of fresh calls beside its bound and far from it, with the
/// other sizes of the call and with usual ones. Precondition: the case lies inside the declared domain.
std::optional<std::string> where_unanswered(implementation& under_test, const test_case& c, std::uint64_t seed);

}  // namespace assay::properties
