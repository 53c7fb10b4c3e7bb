// The owner of an encoding of the list, however the encoding is evaluated.
#pragma once

#include <memory>

#include "reference/formula_owner.hpp"

namespace assay::reference {

/// Defined by recorded.cpp.in for each encoding that is recorded, and by encodings/NAME.cpp for one that is not.
template <class Encoding>
std::unique_ptr<const formula_owner> make_encoding_owner();

}  // namespace assay::reference
