// Who has which operation: the encodings of the list, and formulas that a program adds when it starts.
#pragma once

#include <memory>
#include <vector>

#include "reference/formula_owner.hpp"

namespace assay::reference {

/// Adds an owner behind the encodings of the list and behind those that were added before. A contract violation, and
/// nothing is added, where
/// - somebody has looked up an operation or an encoding before: who has seen the list has seen all of it;
/// - the name is empty, has a slash or a colon, or is that of another owner;
/// - an operation is not called after its owner, is there twice, is a derivative of no function of the owner, has no
///   algorithm, or has axes or inputs without a role (core::check_roles).
void add_formula_owner(std::unique_ptr<const formula_owner> added);

/// All owners: the encodings in the order of their list, then those that were added. Like every look-up it
/// closes the registry.
const std::vector<std::unique_ptr<const formula_owner>>& formula_owners();

/// The owner of an operation. A contract violation where none is called as it is.
const formula_owner& owner_of(const core::operation& op);
/// The operation as its owner declares it. A contract violation where there is none.
const declared_operation& declaration_of(const core::operation& op);

}  // namespace assay::reference
