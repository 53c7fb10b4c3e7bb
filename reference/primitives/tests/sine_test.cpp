// Sines of angles whose range reduction would take too long.
#include <catch2/catch.hpp>

#include "reference/primitives/all.hpp"
#include "reference/readings/all.hpp"
#include "reference/readings/round_enclosure.hpp"

using namespace assay;
using namespace assay::reference;
using core::dtype;

TEST_CASE("primitives/sine/angles_that_no_range_reduction_can_afford_are_not_reduced", "[unit]") {
  const auto power_of_two = [](int squarings) {
    enclosure x(2.0);
    for (int k = 0; k < squarings; ++k) x = x * x;
    return x;
  };
  // 2^4000 is reduced; the truths come from mpmath.
  enclosure large = power_of_two(11) * power_of_two(10) * power_of_two(9) * power_of_two(8) * power_of_two(7);
  large = large * power_of_two(5);
  CHECK(round_enclosure(dtype::f64, sin(large)).value == 0x1.f1f258cc0f6f3p-1);
  CHECK(round_enclosure(dtype::f64, cos(large)).value == -0x1.dc8a1a6a02d29p-3);
  // 2^(2^20) and more are not reduced, and neither is an interval that reaches that far.
  for (const enclosure& x :
       {power_of_two(20), -power_of_two(50), either(boost::indeterminate, enclosure(0.5), power_of_two(40))})
    for (int k = 0; k < 1000; ++k)
      for (const enclosure& r : {sin(x), cos(x)}) {
        REQUIRE(mpfr_cmp_si(r.low(), -1) == 0);
        REQUIRE(mpfr_cmp_si(r.high(), 1) == 0);
        REQUIRE_FALSE(round_enclosure(dtype::f64, r).decided);
      }
}
