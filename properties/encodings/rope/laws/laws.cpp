#include "properties/encodings/rope/laws/laws.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "properties/encodings/rope/laws/rotary_case.hpp"

namespace assay::properties::encodings::rope {
namespace {

// What double arithmetic adds to a comparison of lengths, relative to them.
constexpr double rounding = 0x1p-48;

// Rotations keep the length of every pair.
outcome check_pair_norms(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const rotary_case shape(c);
  const numbers y(*call, "y");
  const auto& x = c.call.inputs.at("x").values.storage();
  comparisons all;
  for (std::size_t v = 0; v < shape.vectors(); ++v)
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [first, second] = shape.pair(v, t);
      const double before = std::hypot(x[first], x[second]), after = std::hypot(y.x[first], y.x[second]);
      if (!all.agree(before, after, y.allowed[first] + y.allowed[second] + rounding * before))
        return violated(
            fmt::format("pair {} of vector {} has length {:.9g} and is rotated to one of {:.9g}", t, v, before, after),
            {}, call->outputs);
    }
  return all.result();
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
outcome check_composition(implementation& under_test, const test_case& c) {
  auto steps = steps_from(c);
  if (!steps) return {status::uninformative};
  const auto once = measure(under_test, c), whole = measure(under_test, steps->sum);
  if (!once) return once.error();
  if (!whole) return whole.error();
  steps->second.call.inputs.at("x") = once->outputs.at("y");
  const auto composed = measure(under_test, steps->second);
  if (!composed) return composed.error();
  const rotary_case shape(c);
  const numbers y(*once, "y"), z(*composed, "y"), w(*whole, "y");
  comparisons all;
  for (std::size_t v = 0; v < shape.vectors(); ++v)
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [first, second] = shape.pair(v, t);
      const approximate inherited{0.0, y.allowed[first] + y.allowed[second]};
      for (const std::size_t i : {first, second})
        if (!agree(all, at(z, i) + inherited, at(w, i)))
          return violated(differing(fmt::format("y element {}, rotated twice and by the sum of the positions", i),
                                    at(z, i) + inherited, at(w, i)),
                          whole->outputs, composed->outputs);
    }
  return all.result();
}

// Position 0 is the identity: 1 and 0 are exact, and so are the products and the sum.
outcome check_identity(implementation& under_test, const test_case& c) {
  const auto still = with_positions(c, [](double) { return 0.0; });
  const auto call = measure(under_test, *still);
  if (!call) return call.error();
  const auto& x = c.call.inputs.at("x").values.storage();
  const auto& y = call->outputs.at("y").values.storage();
  comparisons all;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!all.agree(x[i], y[i], 0.0))
      return violated(fmt::format("at position 0 element {} is {:a} instead of {:a}", i, y[i], x[i]),
                      {{"y", c.call.inputs.at("x")}}, call->outputs);
  return all.result();
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
outcome check_linearity(implementation& under_test, const test_case& c) {
  const rotary_case shape(c);
  std::vector<approximate> x;
  for (const double v : c.call.inputs.at("x").values.storage())
    x.push_back({std::clamp(std::nearbyint(4.0 * v) / 4.0, -4.0, 4.0), 0.0});
  const std::vector<approximate> backwards(x.rbegin(), x.rend()), scaled = times_dyadic(shape, x);
  test_case plain = c, reversed = c, combined = c;
  for (std::size_t i = 0; i < x.size(); ++i) {
    plain.call.inputs.at("x").values.storage()[i] = x[i].value;
    reversed.call.inputs.at("x").values.storage()[i] = backwards[i].value;
    combined.call.inputs.at("x").values.storage()[i] = scaled[i].value + backwards[i].value;
  }
  const auto one = measure(under_test, plain), other = measure(under_test, reversed),
             sum = measure(under_test, combined);
  for (const auto* call : {&one, &other, &sum})
    if (!*call) return call->error();
  const numbers y(*one, "y"), y_other(*other, "y"), y_sum(*sum, "y");
  std::vector<approximate> expected;
  for (std::size_t i = 0; i < x.size(); ++i) expected.push_back(at(y, i));
  expected = times_dyadic(shape, std::move(expected));
  comparisons all;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!agree(all, expected[i] + at(y_other, i), at(y_sum, i)))
      return violated(differing(fmt::format("element {} of rotations of D x and x', and of D x + x'", i),
                                expected[i] + at(y_other, i), at(y_sum, i)),
                      {}, sum->outputs);
  return all.result();
}

const std::vector<std::string> moderate{"mild", "left_padding", "decode", "real_positions", "one_hot"};

}  // namespace

property law_of(const char* name, const char* summary, std::vector<std::string> operations, law_check check,
                std::size_t calls, std::vector<std::string> families) {
  property p{name, summary,
             [operations = std::move(operations)](const core::operation& op) {
               return std::find(operations.begin(), operations.end(), op.name) != operations.end();
             },
             check};
  p.calls = calls;
  p.families = std::move(families);
  return p;
}

property rotation_law(const char* name, const char* summary, law_check check, std::size_t calls) {
  return law_of(name, summary, {"rope/rotate", "rope/rotate_by"}, check, calls, moderate);
}
property rotation_law_with_gradients(const char* name, const char* summary, law_check check, std::size_t calls) {
  return law_of(name, summary, {"rope/rotate", "rope/rotate_by", "rope/rotate:vjp", "rope/rotate_by:vjp"}, check, calls,
                moderate);
}

std::vector<property> laws() {
  std::vector<property> all{
      rotation_law("rotation_norms", "rotations keep the length of every pair", check_pair_norms, 1),
      rotation_law("rotation_composition", "one rotation after another is that of the sum of positions",
                   check_composition, 3),
      rotation_law("rotation_identity", "position 0 changes nothing", check_identity, 1),
      rotation_law("rotation_linearity", "rotations are linear, over the complex numbers in every pair",
                   check_linearity, 3),
  };
  for (const auto& others : {layout_laws(), score_laws(), setting_laws(), gradient_laws()})
    all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace assay::properties::encodings::rope
