#include "properties/laws/rope.hpp"

#include <fmt/format.h>

#include <cmath>

#include "properties/laws/rotary_case.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

// What double arithmetic adds to a comparison of sums, relative to their terms.
constexpr double rounding = 0x1p-48;

bool rotates(const core::operation& op) { return op.name == "rope/rotate" || op.name == "rope/rotate_by"; }

/// An output with the errors allowed to it.
struct measured_output {
  const std::vector<double>& allowed;
  const core::tensor& values;
  measured_output(const measured_call& call, const char* name)
      : allowed(call.allowed.at(name)), values(call.outputs.at(name)) {}
  double operator[](std::size_t i) const { return values.values.storage()[i]; }
};

// Rotations keep the length of every pair.
outcome check_pair_norms(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const rotary_case shape(c);
  const measured_output y(*call, "y");
  const auto& x = c.call.inputs.at("x").values.storage();
  for (std::size_t v = 0; v < shape.vectors(); ++v)
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [first, second] = shape.pair(v, t);
      const double before = std::hypot(x[first], x[second]), after = std::hypot(y[first], y[second]);
      if (!agree(before, after, y.allowed[first] + y.allowed[second] + rounding * before))
        return violated(
            fmt::format("pair {} of vector {} has length {:.9g} and is rotated to one of {:.9g}", t, v, before, after),
            {}, call->outputs);
    }
  return {};
}

struct score {
  double value = 0, allowed = 0;
};
score score_of(const measured_output& y, std::size_t i, std::size_t j, std::size_t features) {
  score s;
  for (std::size_t k = 0; k < features; ++k) {
    const std::size_t a = i * features + k, b = j * features + k;
    s.value += y[a] * y[b];
    s.allowed += std::fabs(y[a]) * y.allowed[b] + std::fabs(y[b]) * y.allowed[a] + y.allowed[a] * y.allowed[b] +
                 rounding * std::fabs(y[a] * y[b]);
  }
  return s;
}

// Scores of a query and a key depend on the difference of their positions alone.
outcome check_relativity(implementation& under_test, const test_case& c) {
  const double step = c.seed % 2 == 0 ? 1.0 : 3.0;
  const auto moved = with_positions(c, [&](double m) { return m + step; });
  if (!moved) return {status::uninformative};
  const auto here = measure(under_test, c), there = measure(under_test, *moved);
  if (!here) return here.error();
  if (!there) return there.error();
  const rotary_case shape(c);
  const measured_output y(*here, "y"), z(*there, "y");
  for (std::size_t row = 0; row < shape.rows(); ++row)
    for (std::size_t i = 0; i < shape.tokens(); ++i)
      for (std::size_t h = 0; h < shape.heads(); ++h) {
        const std::size_t query = (row * shape.tokens() + i) * shape.heads() + h,
                          key = row * shape.tokens() * shape.heads() + h;
        const score s = score_of(y, query, key, shape.features()), t = score_of(z, query, key, shape.features());
        if (!agree(s.value, t.value, s.allowed + t.allowed))
          return violated(fmt::format("row {} head {}: the score of tokens {} and 0 is {:.9g}, and {:.9g} when both "
                                      "stand {} further on",
                                      row, h, i, s.value, t.value, step),
                          here->outputs, there->outputs);
      }
  return {};
}

// R_m R_m = R_2m.
outcome check_composition(implementation& under_test, const test_case& c) {
  const auto twice = with_positions(c, [](double m) { return 2.0 * m; });
  if (!twice) return {status::uninformative};
  const auto once = measure(under_test, c), whole = measure(under_test, *twice);
  if (!once) return once.error();
  if (!whole) return whole.error();
  test_case again = c;
  again.call.inputs.at("x") = once->outputs.at("y");
  const auto composed = measure(under_test, again);
  if (!composed) return composed.error();
  const rotary_case shape(c);
  const measured_output y(*once, "y"), z(*composed, "y"), w(*whole, "y");
  for (std::size_t v = 0; v < shape.vectors(); ++v)
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [first, second] = shape.pair(v, t);
      for (const std::size_t i : {first, second})
        if (!agree(z[i], w[i], z.allowed[i] + w.allowed[i] + y.allowed[first] + y.allowed[second]))
          return violated(
              fmt::format("y element {}: rotated twice {:.9g}, at twice the position {:.9g}", i, z[i], w[i]),
              whole->outputs, composed->outputs);
    }
  return {};
}

// Position 0 is the identity: 1 and 0 are exact, and so are the products and the sum.
outcome check_identity(implementation& under_test, const test_case& c) {
  const auto still = with_positions(c, [](double) { return 0.0; });
  const auto call = measure(under_test, *still);
  if (!call) return call.error();
  const auto& x = c.call.inputs.at("x").values.storage();
  const auto& y = call->outputs.at("y").values.storage();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!core::same_value(x[i], y[i]))
      return violated(fmt::format("at position 0 element {} is {:a} instead of {:a}", i, y[i], x[i]),
                      {{"y", c.call.inputs.at("x")}}, call->outputs);
  return {};
}

// The other layout with the coordinates of each pair moved there.
outcome check_layouts(implementation& under_test, const test_case& c) {
  test_case other = c;
  const bool half = core::setting<std::string>(core::completed(*c.call.operation, c.call.attributes), "layout") ==
                    std::string("half_split");
  other.call.attributes["layout"] = std::string(half ? "interleaved" : "half_split");
  const rotary_case here(c), there(other);
  std::vector<std::size_t> from, to;
  core::tensor& moved = other.call.inputs.at("x");
  for (std::size_t v = 0; v < here.vectors(); ++v)
    for (std::size_t t = 0; t < here.pairs(); ++t) {
      const auto [first, second] = here.pair(v, t);
      const auto [new_first, new_second] = there.pair(v, t);
      from.insert(from.end(), {first, second});
      to.insert(to.end(), {new_first, new_second});
    }
  for (std::size_t k = 0; k < from.size(); ++k)
    moved.values.storage()[to[k]] = c.call.inputs.at("x").values.storage()[from[k]];
  if (!within_domain(under_test.describe(), other)) return {status::outside_domain};
  const auto expected = measure(under_test, c), actual = measure(under_test, other);
  if (!expected) return expected.error();
  if (!actual) return actual.error();
  if (const auto wrong = compare_elements("y", *expected, from, *actual, to))
    return violated("the other layout: " + *wrong, expected->outputs, actual->outputs);
  return {};
}

// Each pair times a power of two of its own: nothing mixes pairs.
outcome check_pair_scaling(implementation& under_test, const test_case& c) {
  const rotary_case shape(c);
  test_case scaled = c;
  const auto factor = [](std::size_t t) { return std::ldexp(1.0, static_cast<int>(t % 3) + 1); };
  for (std::size_t v = 0; v < shape.vectors(); ++v)
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [first, second] = shape.pair(v, t);
      for (const std::size_t i : {first, second}) scaled.call.inputs.at("x").values.storage()[i] *= factor(t);
    }
  const auto before = measure(under_test, c), after = measure(under_test, scaled);
  if (!before) return before.error();
  if (!after) return after.error();
  const measured_output y(*before, "y"), z(*after, "y");
  for (std::size_t v = 0; v < shape.vectors(); ++v)
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [first, second] = shape.pair(v, t);
      for (const std::size_t i : {first, second})
        if (!agree(z[i], factor(t) * y[i], z.allowed[i] + factor(t) * y.allowed[i]))
          return violated(fmt::format("pair {} times {} gives {:.9g} at element {} instead of {:.9g}", t, factor(t),
                                      z[i], i, factor(t) * y[i]),
                          before->outputs, after->outputs);
    }
  return {};
}

// Coordinates that do not rotate come out as they went in, cotangents too.
outcome check_partial(implementation& under_test, const test_case& c) {
  const rotary_case shape(c);
  if (2 * shape.pairs() == shape.features()) return {status::uninformative};
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const bool backwards = c.call.operation->is_vjp();
  const auto& given = c.call.inputs.at(backwards ? "grad_y" : "x").values.storage();
  const auto& got = call->outputs.at(backwards ? "grad_x" : "y").values.storage();
  for (std::size_t i = 0; i < given.size(); ++i)
    if (i % shape.features() >= 2 * shape.pairs() && !core::same_value(given[i], got[i]))
      return violated(fmt::format("element {} does not rotate and became {:a} from {:a}", i, got[i], given[i]), {},
                      call->outputs);
  return {};
}

const std::vector<std::string> moderate{"mild", "left_padding", "decode", "real_positions", "one_hot"};

property law(const char* name, const char* summary, outcome (*check)(implementation&, const test_case&),
             std::size_t calls) {
  property p{name, summary, rotates, check};
  p.calls = calls;
  p.families = moderate;
  return p;
}

}  // namespace

std::vector<property> rope_laws() {
  std::vector<property> all{
      law("rotation_norms", "rotations keep the length of every pair", check_pair_norms, 1),
      law("rotation_relativity", "scores depend on differences of positions alone", check_relativity, 2),
      law("rotation_composition", "twice the rotation is that of twice the position", check_composition, 3),
      law("rotation_identity", "position 0 changes nothing", check_identity, 1),
      law("rotation_layouts", "the layouts are permutations of one another", check_layouts, 2),
      law("rotation_pair_scaling", "rotations commute with factors of pairs", check_pair_scaling, 2),
      law("rotation_partial", "coordinates beyond the pairs stay as they are", check_partial, 1),
  };
  all.back().applies = [](const core::operation& op) { return rotates(reference::forward_of(op)); };
  const std::vector<property> others = rope_setting_laws();
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace assay::properties
