// Tests of user formulas, made by rule from what an operation declares.
#pragma once

#include "properties/harness/catalogue.hpp"

namespace assay::properties {

/// Families of inputs for owners without tests in the catalogue: usual numbers within the declared domains; large,
/// small and offset numbers, zeros, and NaNs, if the domains allow them. Adds these mutants too. See
/// install_owner_tests.
void install_formula_tests(std::function<std::vector<variant>()> mutants);

/// The families of install_formula_tests.
std::vector<family> formula_families();

}  // namespace assay::properties
