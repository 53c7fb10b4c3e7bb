// The monoids of the scans: (log p, h) with LSE, its dual with derivatives, and affine maps of derivatives.
#include <catch2/catch.hpp>

#include "reference/readings/tangent.hpp"
#include "reference/tests/lane_calculus.hpp"

using namespace assay;
using namespace assay::reference;
using namespace assay::reference::testing;

namespace {

using step = affine_step<value>;
using dual = dual_step<sigmoid_form, value>;
using linear = linear_step<value>;

// A random step; with `infinities` one in four components is -inf.
step random_step(core::counter_random& random, bool infinities) {
  const bool cut = infinities && random.one_in(4), empty = infinities && random.one_in(4);
  return {value(cut ? -infinity : -random.uniform(0, 3)), value(empty ? -infinity : 5 * random.normal())};
}
dual random_dual(core::counter_random& random, bool infinities) {
  return {random_step(random, infinities), value(random.normal()), value(random.normal())};
}

double distance(const step& x, const step& y) {
  return std::max(deviation(x.decay, y.decay), deviation(x.input, y.input));
}
// The distance of derivatives counts only where their component is not -inf.
double distance(const dual& x, const dual& y) {
  double d = distance(x.step, y.step);
  if (!is_minus_infinity(y.step.decay)) d = std::max(d, deviation(x.d_decay, y.d_decay));
  if (!is_minus_infinity(y.step.input)) d = std::max(d, deviation(x.d_input, y.d_input));
  return d;
}
double distance(const linear& x, const linear& y) {
  return std::max(deviation(x.weight, y.weight), deviation(x.offset, y.offset));
}

template <class Element, class Draw>
void check_monoid(const Element& identity, Draw draw) {
  core::counter_random random(7);
  for (std::uint64_t k = 0; k < scaled(500); ++k) {
    INFO("triple " << k);
    const Element x = draw(random), y = draw(random), z = draw(random);
    CHECK(distance(then(then(x, y), z), then(x, then(y, z))) < 1e-95);
    CHECK(distance(then(identity, x), x) < 1e-95);
    CHECK(distance(then(x, identity), x) < 1e-95);
  }
}

}  // namespace

TEST_CASE("heinsen/monoid/associative_with_identity", "[property][heinsen]") {
  const step identity{value(0.0), value(-infinity)};
  for (const bool infinities : {false, true}) {
    check_monoid(identity, [&](core::counter_random& r) { return random_step(r, infinities); });
    check_monoid(dual{identity, value(0.0), value(0.0)},
                 [&](core::counter_random& r) { return random_dual(r, infinities); });
  }
  check_monoid(linear{value(1.0), value(0.0)}, [](core::counter_random& r) {
    return linear{value(r.one_in(4) ? 0.0 : r.uniform()), value(r.normal())};
  });
}

TEST_CASE("heinsen/monoid/reset", "[property][heinsen]") {
  // (-inf, b) forgets everything before it, exactly; in the derivative as well.
  core::counter_random random(8);
  for (std::uint64_t k = 0; k < scaled(200); ++k) {
    const dual x = random_dual(random, true);
    dual reset = random_dual(random, false);
    reset.step.decay = value(-infinity);
    const dual both = then(x, reset);
    CHECK(is_minus_infinity(both.step.decay));
    CHECK(both.step.input.number == reset.step.input.number);
    CHECK(both.d_input.number == reset.d_input.number);
  }
}

TEST_CASE("heinsen/monoid/not_commutative", "[property][heinsen]") {
  // x y = y x exactly where LSE(b1 + a2, b2) = LSE(b2 + a1, b1).
  core::counter_random random(9);
  for (std::uint64_t k = 0; k < scaled(200); ++k) {
    const dual x = random_dual(random, false), y = random_dual(random, false);
    CHECK(deviation(then(x, y).step.input, then(y, x).step.input) > 1e-6);
    CHECK(deviation(then(x, y).step.decay, then(y, x).step.decay) == 0.0);
  }
}

TEST_CASE("heinsen/monoid/bracketing_does_not_change_the_gradient", "[property][heinsen]") {
  // Random bracketings of a product of duals: state and derivative equal those of one step after another.
  for (const filling f : fillings)
    for (std::uint64_t seed = 0; seed < scaled(8); ++seed) {
      const std::size_t n = 24;
      const value_lane x = make_lane(f, n, seed);
      INFO(x.name);
      core::counter_random random(seed + 500);
      const value_vector v = random_vector(n, random);
      const std::vector<value> s = states_of(x);
      std::vector<value> ds(n);
      scan_tangent<sigmoid_form, value>(read(x.a), read(x.h), x.s0, read(s), v.as_direction(), write(ds));
      std::vector<dual> product = dual_elements<sigmoid_form>(read(x.a), read(x.h), x.s0, v.as_direction());
      while (product.size() > 1) {
        const auto element = product.begin() + static_cast<std::ptrdiff_t>(random.below(product.size() - 1));
        *element = then(*element, *(element + 1));
        product.erase(element + 1);
      }
      CHECK(deviation(product[0].step.input, s.back()) < 1e-95);
      CHECK(deviation(product[0].d_input, ds.back()) < 1e-90);
    }
}
