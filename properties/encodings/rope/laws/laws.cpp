#include "properties/encodings/rope/laws/laws.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "properties/encodings/rope/laws/rotary_case.hpp"

namespace assay::properties::encodings::rope {
namespace {

// Rotations keep the length of every pair.
void check_pair_norms(experiment& e) {
  const numbers y(e.call(), "y");
  const given_numbers x(e.c, "x");
  for_pairs(rotary_case(e.c), [&](std::size_t v, std::size_t t, std::size_t first, std::size_t second) {
    e.equal(length_of(x[first], x[second]), length_of(y[first], y[second]),
            "the length of pair {} of vector {}, before and after", t, v);
  });
}

/// A case and where its tokens go next: there at once, `sum`, and from where they are, `second`.
struct two_steps {
  test_case second, sum;
};

// From m on by n: back to 0 where positions may be negative, else by the positions of the row in reverse, else by m
// again, whichever the dtype has.
std::optional<two_steps> steps_from(const test_case& c) {
  const auto& m = c.call.inputs.at("position").values.storage();
  const std::size_t tokens = sizes_of(c).at("n");
  const std::function<double(std::size_t)> steps[] = {
      [&](std::size_t k) { return -m[k]; },
      [&](std::size_t k) { return m[k - k % tokens + tokens - 1 - k % tokens]; },
      [&](std::size_t k) { return m[k]; },
  };
  for (const auto& step : steps) {
    if (&step == &steps[0] && (c.call.operation->name == "rope/rotate" || c.seed % 2 == 0)) continue;
    const auto second = with_positions(c, [&, k = std::size_t{0}](double) mutable { return step(k++); });
    const auto sum = with_positions(c, [&, k = std::size_t{0}](double here) mutable { return here + step(k++); });
    if (second && sum) return two_steps{*second, *sum};
  }
  return std::nullopt;
}

// R_n R_m = R_{m+n}, and R_-m R_m = 1.
void check_composition(experiment& e) {
  auto steps = steps_from(e.c);
  e.needs(steps.has_value());
  const measured_call &once = e.call(), &whole = e.call(steps->sum);
  steps->second.call.inputs.at("x") = once.outputs.at("y");
  const numbers y(once, "y"), z(e.call(steps->second), "y"), w(whole, "y");
  for_pairs(rotary_case(e.c), [&](std::size_t, std::size_t, std::size_t first, std::size_t second) {
    const approximate inherited{0.0, y.allowed[first] + y.allowed[second]};
    for (const std::size_t i : {first, second})
      e.equal(z[i] + inherited, w[i], "y element {}, rotated twice and by the sum of the positions", i);
  });
}

// Position 0 is the identity: 1 and 0 are exact, and so are the products and the sum.
void check_identity(experiment& e) {
  const numbers y(e.call(*with_positions(e.c, [](double) { return 0.0; })), "y");
  const given_numbers x(e.c, "x");
  for (std::size_t i = 0; i < x.size(); ++i) e.equal(x[i], exactly(y.x[i]), "element {} at position 0", i);
}

// Coordinate k of every vector of x times a complex number of its pair, a power of two times a power of i.
std::vector<approximate> times_dyadic(const rotary_case& shape, std::vector<approximate> x) {
  for (std::size_t v = 0; v < shape.vectors(); ++v)
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [first, second] = shape.pair(v, t);
      const approximate factor{std::ldexp(1.0, static_cast<int>(t % 3) + 1), 0.0};
      for (std::size_t turn = 0; turn <= t % 4; ++turn) {
        const approximate before = x[first];
        x[first] = -x[second];
        x[second] = before;
      }
      x[first] = factor * x[first];
      x[second] = factor * x[second];
    }
  return x;
}

// R(D x + x') = D R(x) + R(x') for complex numbers D of the pairs: rotations are linear and mix no pairs. x and x' are
// multiples of 1/4 up to 4, so that D x + x' has at most 8 bits.
void check_linearity(experiment& e) {
  const rotary_case shape(e.c);
  std::vector<approximate> x;
  for (const double v : e.c.call.inputs.at("x").values.storage())
    x.push_back(exactly(std::clamp(std::nearbyint(4.0 * v) / 4.0, -4.0, 4.0)));
  const std::vector<approximate> backwards(x.rbegin(), x.rend()), scaled = times_dyadic(shape, x);
  test_case plain = e.c, reversed = e.c, combined = e.c;
  for (std::size_t i = 0; i < x.size(); ++i) {
    plain.call.inputs.at("x").values.storage()[i] = x[i].value;
    reversed.call.inputs.at("x").values.storage()[i] = backwards[i].value;
    combined.call.inputs.at("x").values.storage()[i] = scaled[i].value + backwards[i].value;
  }
  const numbers y(e.call(plain), "y"), other(e.call(reversed), "y"), sum(e.call(combined), "y");
  std::vector<approximate> expected;
  for (std::size_t i = 0; i < x.size(); ++i) expected.push_back(y[i]);
  expected = times_dyadic(shape, std::move(expected));
  for (std::size_t i = 0; i < x.size(); ++i)
    e.equal(expected[i] + other[i], sum[i], "element {} of rotations of D x and x', and of D x + x'", i);
}

const std::vector<std::string> moderate{"mild", "left_padding", "decode", "real_positions", "one_hot"};

}  // namespace

law_scope rotations() { return {{"rope/rotate", "rope/rotate_by"}, moderate}; }
law_scope rotations_and_gradients() {
  return {{"rope/rotate", "rope/rotate_by", "rope/rotate:vjp", "rope/rotate_by:vjp"}, moderate};
}

std::vector<property> laws() {
  std::vector<property> all{
      law("rotation_norms", "rotations keep the length of every pair", rotations(), {1, check_pair_norms}),
      law("rotation_composition", "one rotation after another is that of the sum of positions", rotations(),
          {3, check_composition}),
      law("rotation_identity", "position 0 changes nothing", rotations(), {1, check_identity}),
      law("rotation_linearity", "rotations are linear, over the complex numbers in every pair", rotations(),
          {3, check_linearity}),
  };
  for (const auto& others : {layout_laws(), score_laws(), setting_laws(), gradient_laws(), special_value_laws()})
    all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace assay::properties::encodings::rope
