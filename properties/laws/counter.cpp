// A d-bit counter in the signs of d states, with the open-loop controls of heinsen_separability.hpp: the case's
// length decides d, its seed everything else.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "properties/laws/heinsen_separability.hpp"
#include "properties/laws/visible_states.hpp"

namespace assay::properties {
namespace {

constexpr std::size_t most_bits = 6, rows = 2;

// What is counted, and the controls as the dtype holds them.
struct counting {
  test_case run;
  std::size_t bits = 0;
  std::array<std::size_t, rows> first{};  // the number that each row starts from
  sign_bands bands;
  [[nodiscard]] double sign(std::size_t row, std::size_t token, std::size_t j) const {
    return counter_sign(first[row] + token, j);
  }
};

// Mostly of order 1; one in four far beyond what an exponential without a shift can hold.
double draw_margin(core::counter_random& random) {
  const double exponent = random.one_in(4) ? random.uniform(4, 11) : random.uniform(-4, 4);
  return std::exp2(exponent);
}

// fill(sign of the bit) for the elements of a [rows, tokens, bits] tensor.
template <class Fill>
core::tensor tensor_of_signs(const counting& c, Fill fill) {
  const std::size_t tokens = std::size_t{1} << c.bits;
  std::vector<double> x;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < tokens; ++i)
      for (std::size_t j = 0; j < c.bits; ++j) x.push_back(fill(c.sign(row, i, j)));
  return core::make_tensor(c.run.call.type, {rows, tokens, c.bits}, x);
}

// The scans take the controls as they are.
void fill_scan(counting& c, const two_level_controls& controls) {
  const core::dtype type = c.run.call.type;
  const bool gated = c.run.call.operation->input("g") != nullptr;
  const double gate = core::round_to(type, gated ? controls.gate_logit : controls.log_p());
  const double plus = core::round_to(type, controls.h_plus), minus = core::round_to(type, controls.h_minus);
  c.run.call.inputs = {{gated ? "g" : "log_p", tensor_of_signs(c, [&](double) { return gate; })},
                       {"h", tensor_of_signs(c, [&](double sign) { return sign > 0 ? plus : minus; })}};
  c.bands = bands_of(gated ? two_level_controls{gate}.log_p() : gate, plus, minus);
}

// The module makes them from x, whose coordinates are the signs: h = (h+ - h-) / 2 x + (h+ + h-) / 2, W_p = 0.
void fill_module(counting& c, const two_level_controls& controls) {
  const core::dtype type = c.run.call.type;
  const std::size_t d = c.bits;
  const double gate = core::round_to(type, controls.gate_logit);
  const double weight = core::round_to(type, (controls.h_plus - controls.h_minus) / 2.0);
  const double bias = core::round_to(type, (controls.h_plus + controls.h_minus) / 2.0);
  std::vector<double> weights(2 * d * d, 0.0), biases(2 * d, gate);
  for (std::size_t j = 0; j < d; ++j) {
    weights[(d + j) * d + j] = weight;
    biases[d + j] = bias;
  }
  c.run.call.inputs = {{"x", tensor_of_signs(c, [](double sign) { return sign; })},
                       {"W_H", core::make_tensor(type, {2 * d, d}, weights)},
                       {"b_H", core::make_tensor(type, {2 * d}, biases)},
                       {"W_R", core::zeros(type, {d, d})},
                       {"b_R", core::zeros(type, {d})}};
  c.run.call.inputs = with_visible_states(c.run.call.inputs);
  c.bands = bands_of(two_level_controls{gate}.log_p(), bias + weight, bias - weight);
}

counting draw(const test_case& from, std::size_t bits) {
  core::counter_random random(from.seed);
  counting c{from, bits, {random.below(std::size_t{1} << bits), random.below(std::size_t{1} << bits)}, {}};
  const double margin = draw_margin(random);
  from.call.operation->input("x") ? fill_module(c, open_loop(margin)) : fill_scan(c, open_loop(margin));
  std::vector<double> s0(rows * bits);
  for (double& s : s0) s = random.one_in(2) ? 0.0 : 0.9 * margin * random.uniform(-2, 1);
  c.run.call.inputs.emplace("s0", core::make_tensor(from.call.type, {rows, bits}, s0));
  return c;
}

// Every state in the band of its sign, as far as the allowance tells: then all 2^d patterns occur, once each.
outcome judge_counter(const counting& c, const visible_states& seen) {
  const double margin = c.bands.margin();
  outcome o;
  for (std::size_t row = 0; row < seen.batch; ++row)
    for (std::size_t i = 0; i < seen.tokens; ++i)
      for (std::size_t j = 0; j < seen.features; ++j) {
        const bool plus = c.sign(row, i, j) > 0;
        const double low = plus ? c.bands.plus_low : c.bands.minus_low;
        const double high = plus ? c.bands.plus_high : c.bands.minus_high;
        const double s = seen.value[seen.at(row, i, j)], allowed = seen.allowed[seen.at(row, i, j)];
        if (!(s >= low - allowed && s <= high + allowed))
          return {
              status::failed,
              fmt::format("a counter of {} bits, margin {:.6g}: bit {} at token {} of row {} is {}, the state {:.9g} "
                          "should lie in [{:.9g}, {:.9g}], allowed deviation {:.3g}",
                          c.bits, margin, j, i + 1, row, plus ? "+" : "-", s, low, high, allowed)};
        if (!(allowed < margin)) o.verdict = status::uninformative;
      }
  return o;
}

outcome check_counter(implementation& under_test, const test_case& c) {
  const std::size_t n = sizes_of(c).at("n");
  if (n < 2) return {status::uninformative};
  const counting counter = draw(c, std::min<std::size_t>(std::bit_width(n) - 1, most_bits));
  const auto seen = observe(under_test, counter.run);
  return seen ? judge_counter(counter, *seen) : seen.error();
}

}  // namespace

property counter_property() {
  return {"counter",    "the signs of d states count to 2^d, each with its margin (open-loop controls)",
          shows_states, check_counter,
          false,        2};
}

}  // namespace assay::properties
