// The kind of encodings that turn pairs of the coordinates of queries and keys by angles that depend on the position:
//
//   y_first  = x_first cos a - x_second sin a
//   y_second = x_first sin a + x_second cos a
//
// Shapes: x [B, n, h, d] -> y [B, n, h, d]; a position for each token, [B, n], or several, [B, n, a], i64 (exact,
// without gradient) or real. Coordinates that are in no pair stay as they are.
//
// Special values: infinities and NaN in x stay in their pair. The angle 0 is the identity of finite x; an infinity or a
// NaN makes its partner NaN there (0 times infinity), unless an implementation leaves such pairs alone: both are right,
// and tests keep infinities and NaN where the angle is not 0.
//
// Gradients: x-bar is y-bar turned by -a; a-bar = y-bar_second y_first - y-bar_first y_second, the torque.
//
// An operation of this kind is a class template over the reading R,
//   struct turns { using recipe = ...;                      made of rotary_recipe: the steps that variants replace
//     turns(const arguments<R>&, const recipe&, turned_vectors);   what all tokens share: frequencies, settings
//     rotary_layout layout;
//     std::vector<rotation<R>> rotations(std::size_t token) const; }   of each pair, at this token of [B, n];
//                                                           rotations(token, head) where heads have their own
// Loops, declarations and the gradient are the kind's. The gradient is derived head by head: it holds the graph of one
// vector at a time, and what a frequency or a position gets from all heads and tokens is one sum, in any order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reference/algorithms/frequencies.hpp"
#include "reference/derived_vjp.hpp"
#include "reference/kinds/declarations.hpp"
#include "reference/oracle.hpp"

namespace assay::reference {

/// What of a rotation has a format of its own, in the order of rotary_stages(); `scores` where queries and keys are
/// multiplied (rotary_scores.hpp).
enum class rotary_stage { angle, table, product, scores };

/// f16 and bf16: angles in f32, their cosines and sines cast to the dtype of the tensors, and products of that dtype,
/// as LlamaRotaryEmbedding.forward and apply_rotary_pos_emb of huggingface/transformers have it
/// (src/transformers/models/llama/modeling_llama.py; pull request 29285: angles in bf16 are wrong on long contexts).
/// Code that multiplies in f32, as facebookresearch/llama does, errs by less.
inline std::vector<core::stage_declaration> rotary_stages() {
  return {{.name = "angle", .meaning = "frequencies, positions and m theta"},
          {.name = "table", .meaning = "cosines and sines of the angles", .narrow = true},
          {.name = "product", .meaning = "products with the coordinates, and their sums", .narrow = true}};
}

/// Two coordinates that are turned together.
template <class R>
struct coordinate_pair {
  R first, second;

  friend coordinate_pair in_units(const coordinate_pair& x, double factor) {
    return {in_units(x.first, factor), in_units(x.second, factor)};
  }
};

/// The rotation by m theta.
template <class R>
rotation<R> rotation_at(const R& position, const R& theta) {
  const R angle = in_stage<R>(
      rotary_stage::angle, [](const R& m, const R& t) { return m * t; }, position, theta);
  return in_stage<R>(
      rotary_stage::table, [](const R& a) { return rotation<R>(a); }, angle);
}
template <class R>
coordinate_pair<R> turned(const coordinate_pair<R>& x, const rotation<R>& by) {
  return {x.first * by.cosine - x.second * by.sine, x.first * by.sine + x.second * by.cosine};
}

/// Cosine and sine times a magnitude, as huggingface/transformers multiplies its tables by `attention_scaling`.
template <class R>
rotation<R> of_magnitude(const rotation<R>& by, const R& magnitude) {
  return in_stage<R>(
      rotary_stage::table,
      [](rotation<R> r, const R& factor) {
        r.cosine = r.cosine * factor;
        r.sine = r.sine * factor;
        return r;
      },
      by, magnitude);
}

/// Which vectors of a call turn, and where the positions of their tokens are.
struct turned_vectors {
  const char *x = "x", *position = "position";
  bool keys = false;  ///< of scores: queries and keys may turn by rules of their own
};

/// The steps that all encodings of this kind have.
template <template <class> class Recipe, class R>
struct rotary_recipe : differentiable_recipe<Recipe, R> {
  recipe_step<R, rotation<R>(const R& position, const R& theta)> rotation_at = reference::rotation_at<R>;
  recipe_step<R, coordinate_pair<R>(const coordinate_pair<R>&, const rotation<R>&)> turn = turned<R>;
};

/// Where the coordinates of pair t stand: side by side, or `apart` from one another. Those that turn are the first of
/// the features, or with the setting `at` = "end" the last. Settings that an operation does not have are standard ones.
struct rotary_layout {
  std::size_t features, pairs;
  bool half_split;
  /// The setting `partial`: the coordinates that turn are a block, as if there were no others; or they stand, and have
  /// frequencies, as if all turned ("proportional", Gemma 4).
  bool proportional;
  std::size_t start, apart;
  /// Pairs of blocks of which each is halved, one after the other; none where the halves are those of all pairs.
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
    return start + t + before(t).earlier;
  }
  [[nodiscard]] std::size_t second(std::size_t t) const { return first(t) + (blocks.empty() ? apart : before(t).own); }
  /// Pairs of which the frequencies are those of the first ones.
  [[nodiscard]] std::size_t all_pairs() const { return proportional ? features / 2 : pairs; }
  /// Pairs of the blocks before that of pair t, and of this one.
  struct block_of_pair {
    std::size_t earlier, own;
  };
  [[nodiscard]] block_of_pair before(std::size_t t) const {
    std::size_t done = 0, k = 0;
    while (done + blocks[k] <= t) done += blocks[k++];
    return {done, blocks[k]};
  }
  static core::attribute_declaration declared() {
    return choice("layout", {"interleaved", "half_split"}, "which coordinates are a pair");
  }
  static bool has(const core::attributes& settings, const char* name, const char* value) {
    const auto set = settings.find(name);
    return set != settings.end() && std::get<std::string>(set->second) == value;
  }
};

/// Pairs that turn of these many features: those of the settings that count pairs, where 0 stands for all.
inline std::size_t turning_pairs(std::size_t features, const core::attributes& settings) {
  std::size_t counted = 0;
  for (const char* name : {"rotary", "section_0", "section_1", "section_2"})
    if (const auto set = settings.find(name); set != settings.end())
      counted += static_cast<std::size_t>(std::get<std::int64_t>(set->second));
  return counted == 0 ? features / 2 : counted;
}
/// How many of them each axis of positions has, up to the last that has one, or more; none where it is not said.
inline std::vector<std::size_t> sections_of(const core::attributes& settings) {
  const auto of = [&](const char* name) {
    const auto set = settings.find(name);
    return set == settings.end() ? 0 : static_cast<std::size_t>(std::get<std::int64_t>(set->second));
  };
  std::vector<std::size_t> all{of("section_0"), of("section_1"), of("section_2")};
  while (!all.empty() && all.back() == 0) all.pop_back();
  if (!all.empty()) all.resize(std::max(all.size(), of("sections")), 0);
  return all;
}
/// The same, or equal shares.
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
  return integer("rotary", {0, 1, 2}, {0.0, 0x1p20}, "pairs that rotate, 0 for all");
}
/// Why so many pairs do not fit into d coordinates; empty where they do.
inline std::string conflict_of_pairs(std::size_t pairs, const char* called, const core::axis_sizes& sizes) {
  if (2 * pairs <= sizes.at("d")) return {};
  return called + std::to_string(pairs) + " pairs are more than d = " + std::to_string(sizes.at("d")) + " holds";
}

/// Why a rotation has no such settings; empty where it has.
inline std::string conflict_of_rotation(const core::attributes& settings, const core::axis_sizes& sizes) {
  if (rotary_layout::has(settings, "partial", "proportional") && rotary_layout::has(settings, "at", "end"))
    return "partial = \"proportional\" turns the first pairs, and at = \"end\" the last ones";
  return conflict_of_pairs(turning_pairs(sizes.at("d"), settings), "rotary = ", sizes);
}

/// Angles m theta_t: a position m of each token, a frequency of each pair.
template <class R, class Recipe>
struct turns_by_frequency {
  using recipe = Recipe;
  const recipe& how;
  rotary_layout layout;
  std::vector<R> theta{}, position{};
  std::optional<R> magnitude{};

  [[nodiscard]] std::vector<rotation<R>> rotations(std::size_t token) const {
    std::vector<rotation<R>> all;
    for (const R& t : theta) {
      all.push_back(how.rotation_at(position[token], t));
      if (magnitude) all.back() = of_magnitude(all.back(), *magnitude);
    }
    return all;
  }
};

/// Whether heads have angles of their own.
template <class Turns>
inline constexpr bool turns_by_head = requires(const Turns& formula) {
  formula.rotations(0, 0);
};
template <class Turns>
auto rotations_at(const Turns& formula, std::size_t token, [[maybe_unused]] std::size_t head) {
  if constexpr (turns_by_head<Turns>)
    return formula.rotations(token, head);
  else
    return formula.rotations(token);
}

/// Turns one vector in place.
template <class R, class Turns>
void turn(const Turns& formula, const typename Turns::recipe& how, const std::vector<rotation<R>>& by, R* x) {
  for (std::size_t t = 0; t < formula.layout.pairs; ++t) {
    R &first = x[formula.layout.first(t)], &second = x[formula.layout.second(t)];
    coordinate_pair<R> both = in_stage<R>(rotary_stage::product, how.turn, coordinate_pair<R>{first, second}, by[t]);
    first = std::move(both.first);
    second = std::move(both.second);
  }
}

template <template <class> class Turns, class R>
fields<R> rotate(const arguments<R>& call, const typename Turns<R>::recipe& how) {
  const Turns<R> formula(call, how, {});
  field<R> y = call["x"];
  const std::size_t heads = y.shape(2), features = y.shape(3);
  for (std::size_t token = 0; y.size() > 0 && token < y.shape(0) * y.shape(1); ++token) {
    std::vector<rotation<R>> by;
    for (std::size_t head = 0; head < heads; ++head) {
      if (head == 0 || turns_by_head<Turns<R>>) by = rotations_at(formula, token, head);
      turn(formula, how, by, y.storage().data() + (token * heads + head) * features);
    }
  }
  return {{"y", std::move(y)}};
}

/// See derived_vjp.hpp.
template <template <class> class Turns, class R>
fields<R> rotate_vjp(const arguments<R>& call, const typename Turns<R>::recipe& how) {
  if constexpr (carries_derivatives<R>) {
    throw core::contract_violation("no second derivative of " + call.operation);
  } else {
    using number = adjoint<R>;
    using steps = typename Turns<number>::recipe;
    tape<R> graph;
    const lifted_inputs<R> lifted(call, *find_operation(core::operation_name(call.operation).forward));
    const auto variables = graph.last();
    const steps of_gradient = how.of_gradient ? steps(*how.of_gradient) : steps{};
    const Turns<number> formula(lifted.in, of_gradient, {});
    const auto shared = graph.last();
    const field<number>& x = lifted.in["x"];
    const std::size_t heads = x.shape(2), features = x.shape(3);
    for (std::size_t token = 0; x.size() > 0 && token < x.shape(0) * x.shape(1); ++token) {
      std::vector<rotation<number>> by;
      auto angles = graph.last();
      std::vector<number> y(features);
      for (std::size_t head = 0; head < heads; ++head) {
        const std::size_t v = token * heads + head;
        if (head == 0 || turns_by_head<Turns<number>>) {
          by = rotations_at(formula, token, head);
          angles = graph.last();
        }
        for (std::size_t k = 0; k < features; ++k) y[k] = x.storage()[v * features + k];
        turn(formula, of_gradient, by, y.data());
        for (std::size_t k = 0; k < features; ++k)
          graph.put(y[k].node, cotangent<R>(call["grad_y"].storage()[v * features + k]));
        graph.sweep(angles);
        const bool again = head + 1 < heads && !turns_by_head<Turns<number>>;
        graph.sweep(shared, again ? tape<R>::then::keep : tape<R>::then::forget);
      }
    }
    graph.sweep(variables);
    return lifted.gradients();
  }
}

inline core::tensor_declaration vectors_by_head(const char* called, const char* meaning) {
  return {.name = called, .axes = {"B", "n", "h", "d"}, .meaning = meaning};
}

/// The declaration of an operation of this kind, which puts x before the inputs and rotary_stages() before the stages,
/// and has the output.
inline core::operation rotation_declaration(core::operation declaration) {
  declaration.inputs.insert(declaration.inputs.begin(), vectors_by_head("x", "queries or keys"));
  // A coordinate may cancel, but the length of its pair, and with it the error, is that of the row x.
  declaration.outputs = {vectors_by_head("y", "the same, rotated")};
  declaration.outputs.front().scale = core::error_scale::by_row;
  std::vector<core::stage_declaration> stages = rotary_stages();
  stages.insert(stages.end(), declaration.stages.begin(), declaration.stages.end());
  declaration.stages = std::move(stages);
  declaration.grows_with = core::with_position;
  declaration.independent = {"B", "n", "h"};
  return declaration;
}
/// Of such a declaration.
template <template <class> class Turns, class R>
operation_record<R, typename Turns<R>::recipe> rotation_record(core::operation declaration) {
  return {.declaration = std::move(declaration),
          .algorithms = one_algorithm,
          .forward = rotate<Turns, R>,
          .vjp = rotate_vjp<Turns, R>,
          .jvp = not_offered};
}

}  // namespace assay::reference
