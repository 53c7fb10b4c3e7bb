// What some tokens make of the state before them, as s -> log(e^(sum + s) + e^state) with the sum of log p over the
// tokens, and the state after them if it was -inf before.
#pragma once

#include <type_traits>

#include "optimized/encodings/heinsen/carry.hpp"
#include "optimized/kernel_table.hpp"

namespace assay::optimized::heinsen {

/// Maps of several features and pieces of time. Rounding: a map that is joined has an error of half a unit in the last
/// place of its state as carry_of<Real>, and of its sum, beside those that the two had.
template <class Real>
struct state_maps {
  carry_of<Real>*sum, *state;
  [[nodiscard]] state_maps from(std::size_t k) const { return {sum + k, state + k}; }
};

/// Map k of `later` becomes that of both pieces of time, for the last k first: so `earlier` may be of the same arrays,
/// further to the front. In f32 as many at once as a register holds.
template <class Real>
void join(void (*kernel)(const map_block&) noexcept, std::size_t count, const state_maps<Real>& earlier,
          const state_maps<Real>& later) {
  if constexpr (std::is_same_v<Real, float>)
    kernel({count, earlier.sum, earlier.state, later.sum, later.state});
  else
    for (std::size_t k = count; k-- > 0;) {
      later.state[k] = joined(later.sum[k] + earlier.state[k], later.state[k]);
      later.sum[k] += earlier.sum[k];
    }
}

/// Each of `pieces` rows of maps becomes that of its piece and of all before it. In f32 rows are joined with those 1,
/// 2, 4, ... before them [Hillis and Steele 1986], all at once; in f64, where nothing is done at once, in turn.
template <class Real>
void join_all(void (*kernel)(const map_block&) noexcept, std::size_t pieces, std::size_t features,
              const state_maps<Real>& maps) {
  if constexpr (std::is_same_v<Real, float>)
    for (std::size_t step = 1; step < pieces; step *= 2)
      join<Real>(kernel, (pieces - step) * features, maps, maps.from(step * features));
  else
    for (std::size_t piece = 1; piece < pieces; ++piece)
      join<Real>(kernel, features, maps.from((piece - 1) * features), maps.from(piece * features));
}

}  // namespace assay::optimized::heinsen
