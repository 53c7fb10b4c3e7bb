// A wrong implementation of one encoding with right operations of another: for laws that ask for both.
#pragma once

#include <string>
#include <vector>

#include "properties/encodings.hpp"

namespace assay::properties {

/// The same variant, which offers the named operations too, of other encodings: those are right, in plain arithmetic of
/// their dtype. Operations that there are none of are left out.
variant beside_right(variant v, std::vector<std::string> operations);

}  // namespace assay::properties
