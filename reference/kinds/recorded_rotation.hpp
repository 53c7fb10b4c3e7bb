// The kind of encodings that turn pairs of coordinates (rotation.hpp), of encodings whose formulas are programs: all
// vectors at once.
//
// Shapes: x [B, n, h, d] -> y [B, n, h, d]; a rotation of r pairs broadcasts to [B, n, h, r]. Of scores q [B, n, h u,
// d], k [B, m, h, d] -> s [B, h u, n, m].
#pragma once

#include <functional>

#include "reference/kinds/recorded_call.hpp"
#include "reference/kinds/rotation.hpp"

namespace assay::reference {

/// cos and sin of an angle.
struct traced_rotation {
  formula::traced cosine, sine;
  explicit traced_rotation(const formula::traced& angle);
};
/// Two coordinates that are turned together.
struct traced_pairs {
  formula::traced first, second;
};
/// The rotation by m theta.
traced_rotation rotation_at(const formula::traced& position, const formula::traced& theta);
traced_pairs turned(const traced_pairs& x, const traced_rotation& by);
/// Cosine and sine times a magnitude, as huggingface/transformers multiplies its tables by `attention_scaling`.
traced_rotation of_magnitude(traced_rotation by, const formula::traced& magnitude);

/// The steps that all encodings of this kind have.
struct rotation_recipe {
  std::function<traced_rotation(const formula::traced& position, const formula::traced& theta)> rotation_at =
      reference::rotation_at;
  std::function<traced_pairs(const traced_pairs& x, const traced_rotation& by)> turn = turned;
};

/// base^(-t / steps) of the first so many pairs t; 1 for t = 0, and where there are no steps.
formula::traced geometric_frequencies(const formula::traced& base, std::size_t pairs, std::size_t steps);
/// Of such a theta, which code that goes from pair to pair computes as a product of t factors base^(-1 / steps), and
/// rounds each time (ggml-org/llama.cpp, ggml_rope_cache_init): allowances are the larger of both.
formula::traced or_products_of_factors(const formula::traced& theta, const formula::traced& base, std::size_t steps);

/// What a position of the call, an input of integers [B, n] or [B, n, a], is as a number, [B, n, 1, 1] or [B, n, 1, a].
formula::traced position_of(const recorded_call& in, const char* called);

/// x [B, n, h, d] with its pairs turned.
formula::traced turned_vectors_of(const rotation_recipe& how, const formula::traced& x, const rotary_layout& layout,
                                  const traced_rotation& by);
/// Scores of queries and keys that are turned.
formula::traced scores_of_turned(const recorded_call& in, const formula::traced& q, const formula::traced& k);

}  // namespace assay::reference
