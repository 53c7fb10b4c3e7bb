// The effect of some tokens on the state before them, as the map s -> log(e^(sum + s) + e^state). `sum` is the sum of
// log p over the tokens, and `state` is the state after them if the state before them was -inf.
#pragma once

#include <type_traits>

#include "optimized/encodings/heinsen/carry.hpp"
#include "optimized/kernel_table.hpp"

namespace assay::optimized::heinsen {

/// The maps of several features and pieces of time. Joining two maps adds a rounding error of half a unit in the last
/// place of the state as carry_of<Real>, and of the sum, to the errors that the two maps had.
template <class Real>
struct state_maps {
  carry_of<Real>*sum, *state;
  [[nodiscard]] state_maps from(std::size_t k) const { return {sum + k, state + k}; }
};

/// Map k of `later` becomes the map of both pieces of time. The last k comes first, so `earlier` may lie in the same
/// arrays further to the front. In f32, a register of maps is joined at once.
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

/// Each of the `pieces` rows of maps becomes the map of its piece and of all pieces before it. In f32, rows are joined
/// with the rows 1, 2, 4, ... before them [Hillis and Steele 1986], several maps at once. In f64, maps are joined one
/// by one, so the rows are joined in turn.
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
