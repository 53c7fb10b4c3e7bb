// Properties over cases that RapidCheck draws and shrinks, in Catch2.
//
// RapidCheck's own adapters drop results or print no reproduction: a property needs an id for that, and if RC_PARAMS
// holds a reproduction of one property, a property with another id passes without a check. Here a failure fails the
// test case and prints the string for RC_PARAMS; without RC_PARAMS the seed is fixed.
#pragma once

#include <fmt/format.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>
#include <string>

#include "properties/harness/case_generator.hpp"
#include "properties/tests/gating.hpp"

namespace assay::properties::testing {

/// Short cases of all families of the property.
inline rc::Gen<test_case> drawn_cases(const property& p, const core::operation& op, core::dtype type,
                                      const description& about) {
  return [families = families_of(p, op), &op, type, about](const rc::Random& random, int size) {
    rc::Random r = random;
    const family& f = families[static_cast<std::size_t>(r.split().next() % families.size())];
    const case_key key{&op, type, f.name, 0, {}, about.settings_of(op)};
    const auto admissible = [about](const test_case& c) {
      return within_domain(about, c) && core::check_domain(*c.call.operation, c.call.inputs).has_value();
    };
    return cases_like(key, f, admissible)(r, size);
  };
}

/// Checks the property over `cases` drawn cases; a failure says how to draw the failing case again.
inline void check_drawn(const property& p, implementation& under_test, const core::operation& op, core::dtype type,
                        int cases) {
  const std::string id = fmt::format("{} {} {} {}", under_test.describe().name, p.name, op.name, core::name_of(type));
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  if (std::getenv("RC_PARAMS") == nullptr) {
    params.seed = seed;
    params.maxSuccess = cases;
  }
  const auto gen = drawn_cases(p, op, type, under_test.describe());
  rc::detail::TestListenerAdapter silent;
  const rc::detail::TestResult result = rc::detail::checkTestable(
      [&] {
        const test_case c = *gen;
        const outcome o = p.check(under_test, c);
        if (o.verdict == status::failed) RC_FAIL(summary(c) + ": " + o.message);
      },
      rc::detail::TestMetadata{id, p.summary}, params, silent, rc::detail::configuration().reproduce);
  if (result.template is<rc::detail::SuccessResult>()) {
    SUCCEED(id);
    return;
  }
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  if (result.template is<rc::detail::FailureResult>()) {
    rc::detail::Configuration again;
    again.reproduce = {{id, result.template get<rc::detail::FailureResult>().reproduce}};
    text << "\nRC_PARAMS='" << rc::detail::configToMinimalString(again) << "'";
  }
  FAIL_CHECK(id << ": " << text.str());
}

}  // namespace assay::properties::testing
