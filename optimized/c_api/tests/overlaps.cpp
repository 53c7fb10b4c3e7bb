// Compares the test for shared elements with the sets of all elements of the arrays.
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <set>

#include "optimized/c_api/checked_arguments.hpp"
#include "optimized/c_api/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

using c_api::footprint;

// RapidCheck would draw small numbers first. That gives too few axes, so the nominal size is used at once.
template <class Integer>
Integer between(Integer low, Integer past) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, past));
}

footprint drawn() {
  footprint a{"a", true, between<std::uintptr_t>(1000, 1030)};
  const int rank = between(0, 4);
  for (int k = 0; k < rank; ++k) a.add_axis(between(2, 5), between(0, 16));
  a.last = a.first;
  for (int k = 0; k < a.rank; ++k) a.last += static_cast<std::uintptr_t>((a.size[k] - 1) * a.stride[k]);
  return a;
}

std::multiset<std::uintptr_t> elements_of(const footprint& a) {
  std::multiset<std::uintptr_t> places{a.first};
  for (int k = 0; k < a.rank; ++k) {
    std::multiset<std::uintptr_t> more;
    for (const std::uintptr_t place : places)
      for (std::int64_t i = 0; i < a.size[k]; ++i) more.insert(place + static_cast<std::uintptr_t>(i * a.stride[k]));
    places = more;
  }
  return places;
}

}  // namespace

TEST_CASE("heinsen/scan/c_api_shared_elements", "[optimized][heinsen][c_api]") {
  int shared = 0, within_but_apart = 0;
  CHECK(rc::check("as the sets of elements say", [&] {
    const footprint a = drawn(), b = drawn();
    const auto elements_of_a = elements_of(a), elements_of_b = elements_of(b);
    bool expected = false;
    for (const std::uintptr_t place : elements_of_a) expected = expected || elements_of_b.count(place) > 0;
    shared += expected;
    within_but_apart += !expected && a.first <= b.last && b.first <= a.last;
    RC_ASSERT(c_api::share_elements(a, b) == expected);
  }));
  CHECK(shared > 5);
  CHECK(within_but_apart > 5);
}

TEST_CASE("heinsen/scan/c_api_distinct_elements", "[optimized][heinsen][c_api]") {
  int distinct = 0, repeated = 0;
  CHECK(rc::check("none that repeats an element passes", [&] {
    const footprint a = drawn();
    const auto places = elements_of(a);
    const bool repeats = std::set<std::uintptr_t>(places.begin(), places.end()).size() < places.size();
    const bool passes = c_api::has_distinct_elements(a);
    distinct += passes, repeated += repeats;
    RC_ASSERT(!passes || !repeats);
  }));
  CHECK(distinct > 5);
  CHECK(repeated > 5);
}

// The strides have no order, and their equation has too many multiples to try. The search ends soon and takes the
// arrays to overlap.
TEST_CASE("heinsen/scan/c_api_overlap_search_ends", "[optimized][heinsen][c_api]") {
  footprint a{"a", true, 1000}, b{"b", false, 1001};
  for (const std::int64_t stride : {30030, 30042, 30054}) a.add_axis(100000, stride);
  for (const std::int64_t stride : {30048, 30036, 30060}) b.add_axis(100000, stride);
  a.last = a.first + (std::uintptr_t{1} << 40), b.last = a.last;
  CHECK(c_api::share_elements(a, b));  // in fact they share none: all strides are even
}

// The two halves of [B, n, 2d], as gradients of the result of one linear map.
TEST_CASE("heinsen/scan/c_api_halves", "[optimized][heinsen][c_api]") {
  scan_problem<double> p({2, 5, 3}, true);
  run_in_c(p);
  std::vector<double> both(2 * p.h.size());
  c_call<double> call(p);
  for (assay_array* a : {&call.gradients.grad_decay, &call.gradients.grad_h}) {
    a->data = both.data() + (a == &call.gradients.grad_h ? 3 : 0);
    a->stride[1] = 6, a->stride[0] = 30;
  }
  REQUIRE(call.backward() == ASSAY_SCAN_OK);
  for (std::size_t row = 0; row < 10; ++row)
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(both[6 * row + j] == p.grad_decay[3 * row + j]);
      CHECK(both[6 * row + 3 + j] == p.grad_h[3 * row + j]);
    }
  call.gradients.grad_h.data = both.data() + 2;
  CHECK(call.backward() == ASSAY_SCAN_OVERLAP);
}

}  // namespace assay::optimized::tests
