// The cases of a family in RapidCheck's form: a generator, and the tree of the cases to which a case shrinks.
//
// A family draws its numbers from its own counter-based generator (core/counter_random.hpp) and not from RapidCheck's
// combinators: a key must make the same case on any machine and with any version of RapidCheck, and golden sets and
// recorded runs outlive both. RapidCheck gives the seed and walks the tree of smaller cases.
#pragma once

#include <rapidcheck/Gen.h>
#include <rapidcheck/Show.h>

#include <functional>

#include "properties/harness/case.hpp"

namespace assay::properties {

/// Whether a case may be shown as a counterexample.
using is_admissible = std::function<bool(const test_case&)>;

/// The case and, lazily, all cases that it shrinks to: fewer tokens, one lane, simplest values, each admissible.
rc::Shrinkable<test_case> shrinkable_case(test_case c, const is_admissible& admissible);

/// Cases with this key and another seed, which RapidCheck draws.
rc::Gen<test_case> cases_like(const case_key& key, const family& from, const is_admissible& admissible);

/// Smaller cases stay in the domains in which the case lies: that of the operation, and the one that the implementation
/// declares.
is_admissible stays_in_domain(const test_case& c, const description& about);

/// The smallest case that RapidCheck's search reaches through cases for which `fails` holds.
test_case smallest_failing(const rc::Shrinkable<test_case>& from, const std::function<bool(const test_case&)>& fails);

/// RapidCheck prints counterexamples through this.
void showValue(const test_case& c, std::ostream& out);

}  // namespace assay::properties
