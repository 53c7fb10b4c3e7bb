// The example: families, faults of public reports, and right code that computes otherwise.
#include <cmath>
#include <limits>

@includes of checks@
#include "reference/encodings/skeleton.hpp"

namespace assay::properties::encodings::skeleton {
namespace {

using core::counter_random;
using core::dtype;
using encoding = reference::encodings::skeleton;
using reference::formula::traced;
inline constexpr auto& changed = make_variant<encoding>;

// Replace them. The first has usual numbers. Each other one shows a fault that no family before it shows.
@families@

// Wrong implementations. Replace those that change steps of the example. Each names the public report
// (owner/name#issue) that it models. `variation` in scheme_variant.hpp says what a fault can change: a step, the
// inputs, the outputs, the precision. Faults that follow from the declaration are made by rule.
std::vector<variant> mutants() {
@mutants@
}

// Right ones. Add one for each published way of computing.
@controls@

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "skeleton";
  tests.families = families();
  tests.mutants = mutants();
  tests.controls = controls();
@tests@
  return tests;
}

}  // namespace assay::properties::encodings::skeleton
