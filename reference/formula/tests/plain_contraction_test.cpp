// Contractions by native arithmetic: they equal, to the bit, the sums that plain arithmetic rounds step by step.
#include "reference/formula/plain_contraction.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "reference/core/counter_random.hpp"
#include "reference/formula/interpreter.hpp"
#include "reference/readings/all.hpp"

using namespace assay::reference;
using namespace assay::reference::formula;
using assay::core::dtype;

namespace {

// Numbers of all sizes that the format has, so that sums are subnormal, cancel and overflow; some are zeros of either
// sign.
reals<rounded> drawn(std::size_t count, dtype type, assay::core::counter_random& random) {
  const int most = type == dtype::f64 ? 540 : 70;
  reals<rounded> all;
  for (std::size_t k = 0; k < count; ++k) {
    const int exponent = random.below(2) == 0 ? 0 : static_cast<int>(random.below(2 * most)) - most;
    all.emplace_back(random.below(6) == 0 ? std::copysign(0.0, random.sign()) : std::ldexp(random.normal(), exponent));
  }
  return all;
}
bool is_same(rounded x, rounded y) {
  return std::isnan(x.number) ? std::isnan(y.number)
                              : x.number == y.number && std::signbit(x.number) == std::signbit(y.number);
}

}  // namespace

TEST_CASE("formula/plain_contraction/has_the_bits_of_roundings_one_by_one", "[property]") {
  const contraction letters{"ik", "jk", "ij"};
  for (const dtype type : {dtype::f32, dtype::f64}) {
    const computing_in format(type);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      assay::core::counter_random random(seed);
      const std::size_t i = 1 + random.below(4), j = 1 + random.below(4), k = 1 + random.below(40);
      auto x = drawn(i * k, type, random), y = drawn(j * k, type, random);
      const bool has_infinity = seed % 4 == 0;
      if (has_infinity) x[random.below(x.size())] = rounded(std::numeric_limits<double>::infinity());
      if (seed % 5 == 0) x[random.below(x.size())] = rounded(std::nan(""));
      truths terms(i * k), sums(i * j);
      for (auto* mask : {&terms, &sums})
        for (auto& let_in : *mask) let_in = random.below(3) != 0;
      const bool by_term = seed % 2 == 0;
      const contracted_places places(letters, {i, j}, {i, k}, {j, k});
      const auto made = contracted_natively(
          x, y, places, by_term ? contraction_masks{.terms = &terms} : contraction_masks{.sums = &sums});
      REQUIRE(made.has_value());
      for (std::size_t element = 0; element < made->size(); ++element) {
        const std::size_t row = element / j, column = element % j;
        accumulator<rounded> sum;
        for (std::size_t t = 0; t < k; ++t)
          if (by_term ? bool(terms[row * k + t]) : bool(sums[element]))
            sum.add_product(x[row * k + t], y[column * k + t]);
        INFO("seed " << seed << ", element " << element);
        CHECK(is_same((*made)[element], sum.total()));
      }
    }
  }
}

TEST_CASE("formula/plain_contraction/leaves_what_native_arithmetic_has_not", "[unit]") {
  const contraction letters{"ik", "jk", "ij"};
  const contracted_places places(letters, {1, 1}, {1, 2}, {1, 2});
  const reals<rounded> ones(2, rounded(1.0));
  const truths hidden{true, false};
  {
    const computing_in format(dtype::f16);
    CHECK_FALSE(contracted_natively(ones, ones, places, {}));
  }
  const reals<rounded> wider{rounded(1.0), rounded(1.0 + 0x1p-40)};
  const reals<rounded> infinite{rounded(1.0), rounded(std::numeric_limits<double>::infinity())};
  const computing_in format(dtype::f32);
  CHECK_FALSE(contracted_natively(wider, ones, places, {}));
  CHECK_FALSE(contracted_natively(ones, infinite, places, {.terms = &hidden}));
  CHECK(contracted_natively(ones, infinite, places, {})->front().number == std::numeric_limits<double>::infinity());
}
