// The kind of encodings that rotate pairs of coordinates of queries and keys by angles that depend on the position:
//
//   y_first  = x_first cos a - x_second sin a
//   y_second = x_first sin a + x_second cos a
//
// Shapes: x [B, n, h, d] -> y [B, n, h, d]; a position for each token, [B, n], or several, [B, n, a], i64 (exact,
// without gradient) or real. Coordinates that are in no pair stay as they are.
//
// Special values: infinities and NaN in x stay in their pair. The angle 0 is the identity of finite x. There an
// infinity or a NaN makes its partner NaN (0 times infinity), unless an implementation leaves such pairs alone. Both
// are right, and tests have infinities and NaN only where the angle is not 0.
//
// Gradients: x-bar is y-bar rotated by -a; a-bar = y-bar_second y_first - y-bar_first y_second, the torque.
//
// Formulas treat all vectors at once: a rotation of r pairs broadcasts to [B, n, h, r].
//
// Scores of rotated queries and keys are s_ij = factor (R_i q_i) . (R_j k_j). Their inputs are q [B, n, h u, d], k [B,
// m, h, d], and the positions of both; s is [B, h u, n, m]. Settings: `scale`, 1 / sqrt(d) (Vaswani et al. 2017, eq. 1)
// or 1; `logit_factor`, which multiplies the scale; `group`, u: u heads of queries, one after the other, share a head
// of keys (Ainslie et al. 2023, arXiv 2305.13245). In exact arithmetic the rotation by the difference of positions
// would be enough. But published code rotates both, and the error of an angle grows with its position, not with the
// distance. NaN in a query or a key reaches all of its scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "reference/kinds/recorded_call.hpp"

namespace assay::reference {

/// The parts of a rotation that have a format of their own, in the order of rotary_stages(); `scores` is for operations
/// that multiply queries and keys.
enum class rotary_stage { angle, table, product, scores };

/// For f16 and bf16: angles in f32, their cosines and sines cast to the dtype of the tensors, and products in that
/// dtype, as in LlamaRotaryEmbedding.forward and apply_rotary_pos_emb of huggingface/transformers
/// (src/transformers/models/llama/modeling_llama.py; pull request 29285: angles in bf16 are wrong on long contexts).
/// Code that multiplies in f32, as facebookresearch/llama does, has smaller errors.
inline std::vector<core::stage_declaration> rotary_stages() {
  return {{.name = "angle", .meaning = "frequencies, positions and m theta"},
          {.name = "table", .meaning = "cosines and sines of the angles", .narrow = true},
          {.name = "product", .meaning = "products with the coordinates, and their sums", .narrow = true}};
}

/// The places of the coordinates of pair t: side by side, or `apart` from one another. The rotated coordinates are the
/// first features, or the last ones with the setting `at` = "end". Settings that an operation does not have count as
/// standard.
struct rotary_layout {
  std::size_t features, pairs;
  bool half_split;
  /// The setting `partial`. False: the rotated coordinates are a block, as if there were no others. True
  /// ("proportional", Gemma 4): they have the places and frequencies that they would have if all coordinates were
  /// rotated.
  bool proportional;
  std::size_t start, apart;
  /// The number of pairs in each block, where blocks are halved one after the other; empty where the halves are those
  /// of all pairs.
  std::vector<std::size_t> blocks{};

  rotary_layout(const core::attributes& settings, std::size_t width, std::size_t count)
      : features(width),
        pairs(count),
        half_split(core::chosen<bool>(settings, "layout", {{"interleaved", false}, {"half_split", true}})),
        proportional(has(settings, "partial", "proportional")),
        start(has(settings, "at", "end") ? width - 2 * count : 0),
        apart(!half_split    ? 1
              : proportional ? width / 2
                             : count) {}
  [[nodiscard]] std::size_t first(std::size_t t) const {
    if (blocks.empty()) return start + (half_split ? t : 2 * t);
    return start + t + block(t).earlier;
  }
  [[nodiscard]] std::size_t second(std::size_t t) const { return first(t) + (blocks.empty() ? apart : block(t).own); }
  /// The number of pairs that the frequencies are made for; the rotated pairs have the first of these frequencies.
  [[nodiscard]] std::size_t all_pairs() const { return proportional ? features / 2 : pairs; }
  /// The number of pairs in the blocks before the block of pair t, and in this block.
  struct block_of_pair {
    std::size_t earlier, own;
  };
  [[nodiscard]] block_of_pair block(std::size_t t) const {
    std::size_t done = 0, k = 0;
    while (done + blocks[k] <= t) done += blocks[k++];
    return {done, blocks[k]};
  }
  static core::attribute_declaration declared() {
    return choice("layout", {"interleaved", "half_split"},
                  "which coordinates of r pairs turn together: 2t and 2t + 1, or t and t + r");
  }
  static bool has(const core::attributes& settings, const char* name, const char* value) {
    const auto set = settings.find(name);
    return set != settings.end() && std::get<std::string>(set->second) == value;
  }
};

/// The number of rotated pairs for this number of features: the sum of the settings that count pairs, or all pairs
/// where this sum is 0.
inline std::size_t turning_pairs(std::size_t features, const core::attributes& settings) {
  std::size_t counted = 0;
  for (const char* name : {"rotary", "section_0", "section_1", "section_2"})
    if (const auto set = settings.find(name); set != settings.end())
      counted += static_cast<std::size_t>(std::get<std::int64_t>(set->second));
  return counted == 0 ? features / 2 : counted;
}
/// The number of rotated pairs of each axis of positions, up to the last axis that has any, and for at least as many
/// axes as the setting `sections` says; empty where no setting gives numbers of pairs.
inline std::vector<std::size_t> sections_of(const core::attributes& settings) {
  const auto size = [&](const char* name) {
    const auto set = settings.find(name);
    return set == settings.end() ? 0 : static_cast<std::size_t>(std::get<std::int64_t>(set->second));
  };
  std::vector<std::size_t> all{size("section_0"), size("section_1"), size("section_2")};
  while (!all.empty() && all.back() == 0) all.pop_back();
  if (!all.empty()) all.resize(std::max(all.size(), size("sections")), 0);
  return all;
}
/// The number of rotated pairs of each axis: as sections_of() gives it, or an equal share of all pairs.
inline std::vector<std::size_t> pairs_of_axes(const core::attributes& settings, std::size_t pairs, std::size_t axes) {
  const std::vector<std::size_t> all = sections_of(settings);
  return all.empty() ? std::vector(axes, pairs / axes) : all;
}
/// The layout of vectors whose pairs belong to axes.
inline rotary_layout layout_with_axes(const core::attributes& settings, std::size_t features, std::size_t axes) {
  const std::size_t pairs = turning_pairs(features, settings);
  rotary_layout layout(settings, features, pairs);
  if (layout.half_split && rotary_layout::has(settings, "halves", "axis"))
    layout.blocks = pairs_of_axes(settings, pairs, axes);
  return layout;
}
inline core::attribute_declaration rotary_setting() {
  return integer("rotary", {0, 1, 2}, {0.0, 0x1p20}, "how many pairs rotate; 0: all of them");
}
/// The reason why this number of pairs does not fit into d coordinates; empty where it fits. `prefix` stands before the
/// number in the message.
inline std::string conflict_of_pairs(std::size_t pairs, const char* prefix, const core::axis_sizes& sizes) {
  if (2 * pairs <= sizes.at("d")) return {};
  return prefix + std::to_string(pairs) + " pairs are more than d = " + std::to_string(sizes.at("d")) + " holds";
}

/// The reason why a rotation cannot have these settings; empty where it can.
inline std::string conflict_of_rotation(const core::attributes& settings, const core::axis_sizes& sizes) {
  if (rotary_layout::has(settings, "partial", "proportional") && rotary_layout::has(settings, "at", "end"))
    return "partial = \"proportional\" turns the first pairs, and at = \"end\" the last ones";
  return conflict_of_pairs(turning_pairs(sizes.at("d"), settings), "rotary = ", sizes);
}

inline core::tensor_declaration vectors_by_head(const char* called, const char* meaning) {
  return {.name = called, .axes = {"B", "n", "h", "d"}, .meaning = meaning};
}

/// The declaration of an operation of this kind: puts x before the inputs and rotary_stages() before the stages, and
/// adds the output.
inline core::operation rotation_declaration(core::operation declaration) {
  declaration.inputs.insert(declaration.inputs.begin(), vectors_by_head("x", "queries or keys"));
  // A coordinate may cancel, but its pair keeps its length, and so the error is compared with the row x.
  declaration.outputs = {vectors_by_head("y", "the same, rotated")};
  declaration.outputs.front().scale = core::error_scale::by_row;
  std::vector<core::stage_declaration> stages = rotary_stages();
  stages.insert(stages.end(), declaration.stages.begin(), declaration.stages.end());
  declaration.stages = std::move(stages);
  declaration.grows_with = core::with_position;
  declaration.independent = {"B", "n", "h"};
  return declaration;
}
/// The declaration of scores: puts q and k before the inputs and rotary_stages() before the stages, and adds the output
/// and the settings of scores. For f16 and bf16, as in eager attention of huggingface/transformers: products in the
/// dtype of the tensors are added up in f32, cast, and scaled.
inline core::operation scores_declaration(core::operation declaration) {
  core::tensor_declaration k = vectors_by_head("k", "keys");
  k.axes[1] = "m";
  core::tensor_declaration q = vectors_by_head("q", "queries");
  q.axes[2] = "h*u";
  declaration.inputs.insert(declaration.inputs.begin(), {std::move(q), std::move(k)});
  declaration.outputs = {{.name = "s",
                          .axes = {"B", "h*u", "n", "m"},
                          .meaning = "scores, queries by keys",
                          .scale = core::error_scale::by_row}};
  declaration.attributes.insert(
      declaration.attributes.end(),
      {choice("scale", {"inverse_sqrt", "one"}, "what scores are multiplied by: 1 / sqrt(d), or 1"),
       real("logit_factor", {1.0, 1.8132604341559297}, {0x1p-20, 0x1p20}, "what all scores are multiplied by, besides"),
       integer("group", {1, 2, 3}, {1.0, 0x1p20}, "how many heads of q share a head of k", "u")});
  declaration.axis_roles = {{"u", core::axis_role::parameter}};
  declaration.stages = rotary_stages();
  declaration.stages.push_back({.name = "scores", .meaning = "products of q and k, and their scale", .narrow = true});
  declaration.stages.push_back({.name = std::string(core::accumulation), .meaning = "the sums of those products"});
  declaration.grows_with = core::with_position;
  declaration.independent = {"B"};
  return declaration;
}

/// The cosine and the sine of an angle.
struct traced_rotation {
  formula::traced cosine, sine;
  explicit traced_rotation(const formula::traced& angle);
};
/// Two coordinates that are rotated together.
struct traced_pairs {
  formula::traced first, second;
};
/// The rotation by the angle m theta, where m is the position.
traced_rotation rotation_at(const formula::traced& position, const formula::traced& theta);
/// The pairs x, rotated.
traced_pairs turned(const traced_pairs& x, const traced_rotation& by);
/// Cosine and sine times a magnitude, as huggingface/transformers multiplies its tables by `attention_scaling`.
traced_rotation scaled_rotation(traced_rotation by, const formula::traced& magnitude);

/// The steps that all encodings of this kind have.
struct rotation_scheme {
  std::function<traced_rotation(const formula::traced& position, const formula::traced& theta)> rotation_at =
      reference::rotation_at;
  std::function<traced_pairs(const traced_pairs& x, const traced_rotation& by)> turn = turned;
};

/// base^(-t / divisor) for the first `pairs` pairs t; 1 for t = 0, and where `divisor` is 0.
formula::traced geometric_frequencies(const formula::traced& base, std::size_t pairs, std::size_t divisor);
/// theta as given by geometric_frequencies(), with an allowance that also covers another way to compute it: code that
/// goes from pair to pair multiplies t factors base^(-1 / divisor), and rounds each product (ggml-org/llama.cpp,
/// ggml_rope_cache_init).
formula::traced or_products_of_factors(const formula::traced& theta, const formula::traced& base, std::size_t divisor);

/// A position of the call, an input of integers [B, n] or [B, n, a], as a number [B, n, 1, 1] or [B, n, 1, a].
formula::traced position_of(const recorded_call& in, const char* called);

/// x [., ., ., d] with its pairs rotated, computed in the stage that the caller is in.
formula::traced turned_features(const rotation_scheme& steps, const formula::traced& x, const rotary_layout& layout,
                                const traced_rotation& by);
/// x [B, n, h, d] with its pairs rotated, computed in the stage `product`.
formula::traced turned_vectors_of(const rotation_scheme& steps, const formula::traced& x, const rotary_layout& layout,
                                  const traced_rotation& by);
/// Scores of rotated queries and keys.
formula::traced scores_of_turned(const recorded_call& in, const formula::traced& q, const formula::traced& k);

}  // namespace assay::reference
