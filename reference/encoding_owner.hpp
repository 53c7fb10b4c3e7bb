// The owner of an encoding of the list, whatever evaluates it.
#pragma once

#include <memory>

#include "reference/formula_owner.hpp"

namespace assay::reference {

/// Instantiated once for each encoding, in instantiate/.
template <class Encoding>
std::unique_ptr<const formula_owner> make_encoding_owner();

}  // namespace assay::reference
