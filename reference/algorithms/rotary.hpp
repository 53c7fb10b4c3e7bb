// Rotations of pairs of coordinates, their adjoint and the derivative in the angle.
#pragma once

#include <cstddef>
#include <vector>

#include "reference/algorithms/frequencies.hpp"

namespace assay::reference {

/// What of a rotation has a format of its own, in the order of rotary_stages().
enum class rotary_stage { angle, table, product };

/// f16 and bf16: angles in f32, their cosines and sines cast to the dtype of the tensors, and products of that dtype,
/// as LlamaRotaryEmbedding.forward and apply_rotary_pos_emb of huggingface/transformers have it
/// (src/transformers/models/llama/modeling_llama.py; pull request 29285: angles in bf16 are wrong on long contexts).
/// Code that multiplies in f32, as facebookresearch/llama does, errs by less.
inline std::vector<core::stage_declaration> rotary_stages() {
  return {{.name = "angle", .meaning = "frequencies, positions and m theta"},
          {.name = "table", .meaning = "cosines and sines of the angles", .narrow = true},
          {.name = "product", .meaning = "products with the coordinates, and their sums", .narrow = true}};
}

/// The rotation by m theta.
template <class R>
rotation<R> rotation_at(const R& position, const R& theta) {
  const R angle = in_stage<R>(
      rotary_stage::angle, [](const R& m, const R& t) { return m * t; }, position, theta);
  return in_stage<R>(
      rotary_stage::table, [](const R& a) { return rotation<R>(a); }, angle);
}

/// Two coordinates that are rotated together.
template <class R>
struct coordinate_pair {
  R first, second;

  friend coordinate_pair in_units(const coordinate_pair& x, double factor) {
    return {in_units(x.first, factor), in_units(x.second, factor)};
  }
};

template <class R>
coordinate_pair<R> turned(const coordinate_pair<R>& x, const rotation<R>& by) {
  return {x.first * by.cosine - x.second * by.sine, x.first * by.sine + x.second * by.cosine};
}
/// By minus the angle, of a cotangent.
template <class R>
coordinate_pair<R> turned_back(const coordinate_pair<R>& g, const rotation<R>& by) {
  return {by_magnitude(g.first * by.cosine) + by_magnitude(g.second * by.sine),
          by_magnitude(g.second * by.cosine) + by_magnitude(-(g.first * by.sine))};
}
/// g_second y_first - g_first y_second for y = turned(x, by): the derivative in the angle. In terms of x, as automatic
/// differentiation has it: what that adds up is no smaller.
template <class R>
R torque(const coordinate_pair<R>& x, const rotation<R>& by, const coordinate_pair<R>& g) {
  const R of_sine = by_magnitude(g.second * x.first) + by_magnitude(-(g.first * x.second));
  const R of_cosine = by_magnitude(g.first * x.first) + by_magnitude(g.second * x.second);
  return of_sine * by_magnitude(by.cosine) + of_cosine * by_magnitude(-by.sine);
}

/// Where the coordinates of a pair stand.
struct rotary_layout {
  std::size_t features, pairs;
  bool half_split;
  [[nodiscard]] std::size_t first(std::size_t t) const { return half_split ? t : 2 * t; }
  [[nodiscard]] std::size_t second(std::size_t t) const { return half_split ? t + pairs : 2 * t + 1; }
};

}  // namespace assay::reference
