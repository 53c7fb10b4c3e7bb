// The verdicts of an experiment for comparisons that hold, that fail, and that could not have failed.
#include "properties/laws/relations/relations.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "properties/tests/gating.hpp"
#include "reference/core/special_values.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

using assay::core::infinity;
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

/// The verdict of a law that makes no call.
template <class Says>
status verdict(Says says) {
  const auto under_test = make_builtin("reference").value();
  return law("name", "sentence", {}, {0, says}).check(*under_test, {}).verdict;
}

status status_of_equal(approximate x, approximate y, double scale = 0.0) {
  return verdict([=](experiment& e) { e.equal(x, y, scale, "x and y"); });
}
status status_of_at_most(approximate x, approximate y) {
  return verdict([=](experiment& e) { e.at_most(x, y, "x and y"); });
}
status status_of_within(double low, double high, approximate x) {
  return verdict([=](experiment& e) { e.within(low, high, x, "x"); });
}

}  // namespace

TEST_CASE("laws/relations/what_could_not_fail_says_nothing", "[unit]") {
  CHECK(verdict([](experiment&) {}) == status::uninformative);
  CHECK(status_of_equal({4, 1}, {4, 1}) == status::passed);
  CHECK(status_of_equal({4, 2}, {4, 1}) == status::uninformative);
  CHECK(status_of_equal({4, 2}, {4, 1}, 8) == status::passed);
  CHECK(status_of_equal({4, infinity}, {4, 0}) == status::uninformative);
  CHECK(status_of_equal({infinity, infinity}, {infinity, 0}) == status::passed);
  CHECK(status_of_equal({undefined, 0}, {undefined, 0}) == status::passed);
  CHECK(status_of_at_most({1, 0.25}, {3, 0.25}) == status::passed);
  CHECK(status_of_at_most({-infinity, 0}, {3, 0}) == status::uninformative);
  CHECK(status_of_within(0, 4, {1, 1}) == status::passed);
  CHECK(status_of_within(0, 1, {1, 1}) == status::uninformative);
}

TEST_CASE("laws/relations/a_failure_is_one_whatever_else_was_compared", "[unit]") {
  CHECK(status_of_equal({4, 3}, {8, 0.5}) == status::failed);
  CHECK(status_of_equal({4, infinity}, {infinity, 0}) == status::failed);
  CHECK(status_of_equal({4, infinity}, {undefined, 0}) == status::failed);
  CHECK(status_of_at_most({3, 0.5}, {1, 1}) == status::failed);
  CHECK(status_of_at_most({-infinity, 0}, {undefined, 0}) == status::failed);
  CHECK(status_of_at_most({undefined, 0}, {infinity, 0}) == status::failed);
  CHECK(status_of_at_most({undefined, 0}, {undefined, 0}) == status::failed);
  CHECK(status_of_within(0, 1, {undefined, 1}) == status::failed);
  CHECK(status_of_within(0, 1, {3, 1}) == status::failed);
  CHECK(verdict([](experiment& e) {
          e.equal({4, 3}, {4, 3}, "x and y");
          e.equal({4, 0}, {5, 0}, "x and y");
          e.needs(false);
        }) == status::failed);
}
