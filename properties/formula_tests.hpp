// Tests of formulas of one's own, by rule: what follows from what an operation declares.
#pragma once

#include "properties/harness/catalogue.hpp"

namespace assay::properties {

/// Families of inputs for owners of which the catalogue has no tests: usual numbers within the domains that are
/// declared; large, small and offset ones, zeros, and one NaN, where they allow it; and these mutants. See
/// install_owner_tests.
void install_formula_tests(std::function<std::vector<variant>()> mutants);

/// Those families.
std::vector<family> formula_families();

}  // namespace assay::properties
