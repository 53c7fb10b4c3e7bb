// Sums, for example of log forget gates, may be added in any order: the allowance is that of the worst order.
#include "reference/algorithms/cumulative_sums.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "reference/core/counter_random.hpp"
#include "reference/readings/working_format.hpp"

using namespace assay;

TEST_CASE("reference/cumulative_sums/allowance_of_every_order", "[unit]") {
  constexpr std::size_t n = 63;
  const double u = core::unit_roundoff(core::dtype::f32);
  const reference::computing_in format(core::dtype::f32);
  core::counter_random random(7);
  double worst = 0;
  for (int k = 0; k < 200; ++k) {
    std::vector<float> a(n);
    for (float& x : a) x = static_cast<float>(-std::exp(random.uniform(-3, 1)));
    a[random.below(n)] = -2e7f;  // beside it most other terms are lost
    double exact = 0;
    for (std::size_t i = 1; i < n; ++i) exact += static_cast<double>(a[i]);

    const std::vector<reference::tracked> given(a.begin() + 1, a.end());
    const double allowed = 2 * u * reference::cumulative_sums(given).back().error + u * std::fabs(exact);

    std::vector<float> order(a.begin() + 1, a.end());
    for (int shuffle = 0; shuffle < 20; ++shuffle) {
      float sum = 0;
      for (const float x : order) sum += x;
      worst = std::max(worst, std::fabs(static_cast<double>(sum) - exact) / allowed);
      if (shuffle == 0)
        std::reverse(order.begin(), order.end());
      else
        for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[random.below(i + 1)]);
    }
  }
  CHECK(worst <= 1);
  CHECK(worst > 0.2);
}
