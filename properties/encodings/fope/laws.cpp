// Laws of Fourier series in place of single frequencies.
#include <cmath>
#include <optional>
#include <string>

#include "properties/faults/call_changes.hpp"
#include "properties/kinds/rotation.hpp"

namespace assay::properties::encodings::fope {

void reverse_frequencies(core::tensors& all);  // variants.cpp

namespace {

/// Calls visit(pair, its first element, its second element) for all vectors.
template <class Visit>
void for_pairs(const core::axis_sizes& s, Visit visit) {
  const std::size_t pairs = s.at("d") / 2;
  for (std::size_t v = 0; v < s.at("B") * s.at("n") * s.at("h"); ++v)
    for (std::size_t o = 0; o < pairs; ++o) visit(o, 2 * v * pairs + o, (2 * v + 1) * pairs + o);
}

// sin 0 = 0 and cos 0 = 1.
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
void check_padding(experiment& e) {
  const core::axis_sizes s = sizes_of(e.c);
  const numbers y(e.call(with_setting(e.c, "padding", std::string("ones"))), "y"),
      z(e.call(with_setting(e.c, "padding", std::string("identity"))), "y");
  const given_numbers x(e.c, "x");
  for_pairs(s, [&](std::size_t o, std::size_t first, std::size_t second) {
    const bool padded = o >= s.at("O");
    e.equal(padded ? x[first] - x[second] : z[first], y[first], "element {} of padding by ones", first);
    e.equal(padded ? x[first] + x[second] : z[second], y[second], "element {} of padding by ones", second);
    for (const std::size_t i : {first, second})
      if (padded) e.equal(x[i], z[i], "element {} of padding by the identity", i);
  });
}
double factor_of_column(std::size_t o) { return std::ldexp(1.0, static_cast<int>(o % 3)); }
void check_columns(experiment& e) {
  const core::axis_sizes s = sizes_of(e.c);
  test_case scaled = e.c;
  for (const char* name : {"c_cos", "c_sin"}) {
    auto& c = scaled.call.inputs.at(name).values.storage();
    for (std::size_t i = 0; i < c.size(); ++i) c[i] *= factor_of_column(i % s.at("O"));
  }
  const numbers y(e.call(), "y"), z(e.call(scaled), "y");
  const bool normalized = setting_of<bool>(e.c.call, "normalized");
  for_pairs(s, [&](std::size_t o, std::size_t first, std::size_t second) {
    for (const std::size_t i : {first, second})
      e.equal(normalized || o >= s.at("O") ? y[i] : exactly(factor_of_column(o)) * y[i], z[i],
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
      law("fope_padding", "padding by ones multiplies by 1 + i, and that by the identity by 1", usual,
          {2, check_padding}),
      law("fope_columns", "a column times a power of two: its pair as well, or nothing where it is normalized", usual,
          {2, check_columns}),
      law("fope_order", "frequencies in another order, with their coefficients: the same", usual,
          agree_after(with_reversed_frequencies, "frequencies in another order")),
  };
}

}  // namespace assay::properties::encodings::fope
