// An encoding computed in plain arithmetic by a recipe of one's own: what mutants and controls are.
#pragma once

#include "reference/core/operation.hpp"
#include "reference/readings/rounded.hpp"

namespace assay::reference {

/// The outputs of a call, computed in the working format of the thread (computing_in) and rounded to storage once.
/// Compiled once for each encoding, in instantiate/rounded.cpp.in.
template <class Encoding>
core::tensors run_recipe(const core::request& call, const typename Encoding::template recipe<rounded>& how);

}  // namespace assay::reference
