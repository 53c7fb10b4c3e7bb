// Which owner has which operation: the encodings of the list, and formulas that a program adds when it starts.
#pragma once

#include <memory>
#include <vector>

#include "reference/formula_owner.hpp"

namespace assay::reference {

/// Adds an owner after the encodings of the list and after the owners that were added before. A contract violation, and
/// nothing is added, where
/// - some code has looked up an operation or an encoding before: whoever sees the list sees all of it;
/// - the name is empty, has a slash or a colon, or belongs to another owner;
/// - an operation is not called after its owner, is there twice, is a derivative whose function does not stand before
///   it, has no algorithm, has algorithms that do not ascend, or breaks a rule of core::check_roles.
void add_formula_owner(std::unique_ptr<const formula_owner> added);

/// All owners: the encodings in the order of their list, then the owners that were added. Like every look-up, this
/// closes the registry.
const std::vector<std::unique_ptr<const formula_owner>>& formula_owners();

/// The owner of an operation. A contract violation where no owner has a name that fits.
const formula_owner& owner_of(const core::operation& op);
/// The operation as its owner declares it. A contract violation where there is none.
const declared_operation& declaration_of(const core::operation& op);

}  // namespace assay::reference
