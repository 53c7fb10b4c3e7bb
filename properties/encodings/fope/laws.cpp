// Laws of FoPE, whose pairs have Fourier series in place of single frequencies.
#include <cmath>
#include <optional>
#include <string>

#include "properties/faults/call_changes.hpp"
#include "properties/kinds/rotation.hpp"

namespace assay::properties::encodings::fope {

void reverse_frequencies(core::tensors& all);  // variants.cpp

namespace {

/// Calls visit(pair, element of its first coordinate, element of its second one) for all pairs of all vectors.
template <class Visit>
void for_pairs(const core::axis_sizes& s, Visit visit) {
  const std::size_t pairs = s.at("d") / 2;
  for (std::size_t v = 0; v < s.at("B") * s.at("n") * s.at("h"); ++v)
    for (std::size_t o = 0; o < pairs; ++o) visit(o, 2 * v * pairs + o, (2 * v + 1) * pairs + o);
}

// sin 0 = 0 and cos 0 = 1: a pair is multiplied by the sum of its column of c_cos.
void check_position_0(experiment& e) {
  test_case still = e.c;
  for (double& m : still.call.inputs.at("position").values.storage()) m = 0.0;
  const core::axis_sizes s = sizes_of(e.c);
  e.needs(s.at("D") > 0);
  const numbers y(e.call(still), "y");
  const given_numbers x(e.c, "x"), c(e.c, "c_cos");
  const bool normalized = setting_of<bool>(e.c.call, "normalized");
  for_pairs(s, [&](std::size_t o, std::size_t first, std::size_t second) {
    if (o >= s.at("O")) return;
    const std::size_t group = first / s.at("d") % s.at("h") * s.at("g") / s.at("h");
    cancelling_sum sum;
    for (std::size_t k = 0; k < s.at("D"); ++k) sum.add(summand(c[(group * s.at("D") + k) * s.at("O") + o]));
    const approximate factor = normalized ? exactly(1.0) : sum.value;
    for (const std::size_t i : {first, second})
      e.equal(x[i] * factor, y[i], "element {} at position 0, and x times the sum of its column", i);
  });
}
// The pairs without a column are padded. By ones they are multiplied by 1 + i, by the identity they stay as they are.
// The other pairs are the same with both.
void check_padding(experiment& e) {
  const core::axis_sizes s = sizes_of(e.c);
  const numbers by_ones(e.call(with_setting(e.c, "padding", std::string("ones"))), "y"),
      by_identity(e.call(with_setting(e.c, "padding", std::string("identity"))), "y");
  const given_numbers x(e.c, "x");
  for_pairs(s, [&](std::size_t o, std::size_t first, std::size_t second) {
    const bool padded = o >= s.at("O");
    e.equal(padded ? x[first] - x[second] : by_identity[first], by_ones[first], "element {} of padding by ones", first);
    e.equal(padded ? x[first] + x[second] : by_identity[second], by_ones[second], "element {} of padding by ones",
            second);
    for (const std::size_t i : {first, second})
      if (padded) e.equal(x[i], by_identity[i], "element {} of padding by the identity", i);
  });
}

// The power of two by which check_columns multiplies a column.
double factor_of_column(std::size_t o) { return std::ldexp(1.0, static_cast<int>(o % 3)); }
void check_columns(experiment& e) {
  const core::axis_sizes s = sizes_of(e.c);
  test_case scaled = e.c;
  for (const char* name : {"c_cos", "c_sin"}) {
    auto& c = scaled.call.inputs.at(name).values.storage();
    for (std::size_t i = 0; i < c.size(); ++i) c[i] *= factor_of_column(i % s.at("O"));
  }
  const numbers y(e.call(), "y"), y_of_scaled(e.call(scaled), "y");
  const bool normalized = setting_of<bool>(e.c.call, "normalized");
  for_pairs(s, [&](std::size_t o, std::size_t first, std::size_t second) {
    for (const std::size_t i : {first, second})
      e.equal(normalized || o >= s.at("O") ? y[i] : exactly(factor_of_column(o)) * y[i], y_of_scaled[i],
              "element {} where columns are multiplied by powers of two", i);
  });
}

std::optional<test_case> with_reversed_frequencies(const test_case& c) {
  test_case reversed = c;
  reverse_frequencies(reversed.call.inputs);
  return reversed;
}

}  // namespace

std::vector<property> laws() {
  const law_scope usual{{"fope/rotate"}, {"mild", "left_padding", "decode", "dense"}};
  return {
      law("fope_position_0", "at position 0 pairs are multiplied by the sums of columns", usual, {1, check_position_0}),
      law("fope_padding", "padding by ones multiplies a pair by 1 + i, and padding by the identity leaves it unchanged",
          usual, {2, check_padding}),
      law("fope_columns",
          "a column times a power of two multiplies its pair by it, or changes nothing if columns are normalized",
          usual, {2, check_columns}),
      law("fope_order", "frequencies in another order, with their coefficients, give the same outputs", usual,
          agree_after(with_reversed_frequencies, "frequencies in another order")),
  };
}

}  // namespace assay::properties::encodings::fope
