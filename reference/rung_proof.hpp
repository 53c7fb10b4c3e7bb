// Whether a rung of the ladder has proved what is wanted for an element.
#pragma once

#include "reference/oracle.hpp"
#include "reference/rung_output.hpp"

namespace assay::reference {

/// Precondition: k is an element of o.
bool is_proved(const rung_output& o, std::size_t k, proof wanted);

}  // namespace assay::reference
