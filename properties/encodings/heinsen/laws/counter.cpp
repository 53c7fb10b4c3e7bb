// A d-bit counter in the signs of d states, with the open-loop controls of reference/algorithms/separability.hpp: the
// case's length decides d, its seed everything else.
#include <algorithm>
#include <bit>
#include <cmath>

#include "properties/encodings/heinsen/laws/counter_inputs.hpp"
#include "properties/encodings/heinsen/laws/laws.hpp"
#include "properties/encodings/heinsen/laws/visible_states.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

constexpr std::size_t most_bits = 6;

// Mostly of order 1; in one case of four far beyond the range of an exponential without a shift. |log p| is about twice
// the margin, so a prefix sum over the case stays finite. This holds in the module too, whose log p is in no declared
// domain.
double draw_margin(core::dtype type, std::size_t tokens, core::counter_random& random) {
  const double exponent = random.one_in(4) ? random.uniform(4, 11) : random.uniform(-4, 4);
  return std::min(std::exp2(exponent), core::largest_finite(type) / (32.0 * static_cast<double>(tokens)));
}

// The two rows start from different numbers, in states that the controls allow.
counter_inputs draw(const test_case& from, std::size_t bits) {
  core::counter_random random(from.seed);
  const std::size_t numbers = std::size_t{1} << bits, first = random.below(numbers), second = random.below(numbers);
  const double margin = draw_margin(from.call.type, numbers, random);
  counter_inputs c =
      make_counter(*from.call.operation, from.call.type, reference::open_loop(margin), bits, {first, second});
  for (double& s : c.tensors.at("s0").values.storage())
    if (random.one_in(2)) s = core::round_to(from.call.type, 0.9 * margin * random.uniform(-2, 1));
  return c;
}

// Every state lies in the band of its sign, as far as the allowance can tell: then all 2^d patterns occur, once each.
void check_counter(experiment& e) {
  const std::size_t n = sizes_of(e.c).at("n");
  e.needs(n > 1);
  const counter_inputs c = draw(e.c, std::min<std::size_t>(std::bit_width(n) - 1, most_bits));
  const visible_states seen = observe(e, with_inputs(e.c, c.tensors));
  const double margin = c.bands.margin();
  bool signs_known = true;
  for (std::size_t row = 0; row < seen.batch; ++row)
    for (std::size_t i = 0; i < seen.tokens; ++i)
      for (std::size_t j = 0; j < seen.features; ++j) {
        const bool plus = c.sign(row, i, j) > 0;
        const approximate s = seen.at(row, i, j);
        e.within(plus ? c.bands.plus_low : c.bands.minus_low, plus ? c.bands.plus_high : c.bands.minus_high, s,
                 "a counter of {} bits, margin {:.6g}: the band of bit {} at token {} of row {}, {}, and the state",
                 c.bits, margin, j, i + 1, row, plus ? "+" : "-");
        signs_known = signs_known && s.error < margin;
      }
  e.needs(signs_known);
}

}  // namespace

property counter_law() {
  return law("counter", "the signs of d states count to 2^d, each with its margin (open-loop controls)",
             what_shows_states(), {2, check_counter});
}

}  // namespace assay::properties::encodings::heinsen
