// Lanes drawn on all cores equal those drawn one after the other, whether or not each takes as many random numbers.
#include <catch2/catch.hpp>
#include <set>

#include "properties/generators/lane_inputs.hpp"

using namespace assay;
using namespace assay::properties;

TEST_CASE("heinsen/scan/lanes_are_drawn_in_order", "[unit]") {
  constexpr std::size_t batch = 3, n = 67, d = 401;
  std::size_t alike = 0, others = 0;
  for (const lane_filler fill :
       {mild, gates_near_one, wide, block_half_life, special_values, gap, late_spike, nan_inside})
    for (const bool gated : {false, true}) {
      core::counter_random random(7), one_by_one(7);
      const scan_tensors found = fill_lanes(fill, gated, core::dtype::f32, random, batch, n, d);
      std::vector<double> gate(batch * n * d), h(gate.size()), s0(batch * d);
      std::set<std::uint64_t> numbers;
      for (std::size_t lane = 0; lane < batch * d; ++lane) {
        const std::uint64_t before = one_by_one.drawn();
        lane_inputs x{std::vector<double>(n), std::vector<double>(n)};
        fill(x, gated, core::dtype::f32, one_by_one);
        numbers.insert(one_by_one.drawn() - before);
        s0[lane] = x.s0;
        for (std::size_t i = 0; i < n; ++i) {
          const std::size_t index = (lane / d * n + i) * d + lane % d;
          gate[index] = x.gate[i], h[index] = x.h[i];
        }
      }
      ++(numbers.size() == 1 ? alike : others);
      CHECK(random.drawn() == one_by_one.drawn());
      CHECK(core::identical(found.gate, core::make_tensor(core::dtype::f32, {batch, n, d}, gate)));
      CHECK(core::identical(found.h, core::make_tensor(core::dtype::f32, {batch, n, d}, h)));
      CHECK(core::identical(found.s0, core::make_tensor(core::dtype::f32, {batch, d}, s0)));
    }
  CHECK(alike >= 4);
  CHECK(others >= 4);
}
