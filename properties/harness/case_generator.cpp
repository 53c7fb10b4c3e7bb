#include "properties/harness/case_generator.hpp"

#include <rapidcheck/Random.h>
#include <rapidcheck/Shrinkable.h>
#include <rapidcheck/seq/Create.h>
#include <rapidcheck/seq/Transform.h>
#include <rapidcheck/shrinkable/Create.h>
#include <rapidcheck/shrinkable/Operations.h>

#include <ostream>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/property.hpp"

namespace assay::properties {

rc::Shrinkable<test_case> shrinkable_case(test_case c, const is_admissible& admissible) {
  return rc::shrinkable::shrinkRecur(std::move(c), [admissible](const test_case& larger) {
    return rc::seq::filter(rc::seq::fromContainer(simpler_cases(larger)), admissible);
  });
}

rc::Gen<test_case> cases_like(const case_key& key, const family& from, const is_admissible& admissible) {
  return [=](const rc::Random& random, int) {
    case_key drawn = key;
    drawn.seed = rc::Random(random).next();
    return shrinkable_case(make_case(drawn, from), admissible);
  };
}

is_admissible stays_in_domain(const test_case& c, const description& about) {
  const bool inside = core::check_domain(*c.call.operation, c.call.inputs).has_value();
  const bool decided = !rests_on_convention(c.call);
  return [inside, decided, &about](const test_case& smaller) {
    if (inside && !core::check_domain(*smaller.call.operation, smaller.call.inputs)) return false;
    if (decided && rests_on_convention(smaller.call)) return false;
    return within_domain(about, smaller);
  };
}

// GCC 12 reports the value of RapidCheck's Maybe as uninitialised where this is inlined.
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
test_case smallest_failing(const rc::Shrinkable<test_case>& from, const std::function<bool(const test_case&)>& fails) {
  return rc::shrinkable::findLocalMin(from, fails).first;
}
#pragma GCC diagnostic pop

void showValue(const test_case& c, std::ostream& out) { out << summary(c); }

}  // namespace assay::properties
