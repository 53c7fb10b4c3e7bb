// Rotary position embedding on several axes: width and height of an image, time. Pairs of coordinates are turned as by
// RoPE (Su et al. 2021, arXiv 2104.09864); the angle of a pair is
//
//   rope_axes/rotate     p_k base^(-e)       of one axis k: axial (Heo et al. 2024, arXiv 2403.13298, eq. (9)), M-RoPE
//     (Wang et al. 2024, "Qwen2-VL", arXiv 2409.12191, section 2.1)
//   rope_axes/rotate_by  sum_k p_k theta_k   of all axes, with frequencies of each head: mixed (eq. (10))
//
// Shapes: x [B, n, h, d], position [B, n, a] -> y [B, n, h, d]; i64 (exact), or real beside theta [h, a, r].
//
// Pairs are shared out to axes:
//   `section_0` to `section_2`: how many the first three axes have; where all are 0, each of the a axes has an equal
//     share of floor(d/2), which a must divide. r is their sum: the coordinates from 2r on stay as they are.
//   `sections`: so many axes have a section, of which the last ones may be 0; 0: those up to the last that is not 0.
//   `assignment` "blocks": those of the first axis, then those of the second (rope-vit; Qwen2-VL: 16, 24, 24);
//     "alternating": one of each axis by turns, what an axis lacks belongs to the first (Qwen3-VL: 24, 20, 20).
//   `exponent` e of pair t, which is number i of its axis k, which has s pairs, of m axes that have some:
//     "per_axis" i/s (rope-vit, Llama 4), "shared" t/r (M-RoPE), "by_turns" (m i + k)/r < 1 (Pixtral)
//   `halves` of the layout half_split: "vector", those of all pairs; "axis", each axis has a block of coordinates, and
//     its pairs are halves of that (croco's RoPE2D, of DUSt3R and MASt3R; VGGT). Not where axes alternate.
//   `order` "xy": the first of these axes is the first number of a position; "yx": they run from the last one on.
//
// Position 0 on all axes is the identity: class tokens.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reference/algorithms/settings.hpp"
#include "reference/kinds/rotation.hpp"

namespace assay::reference::encodings {

struct rope_axes {
  static constexpr std::string_view name = "rope_axes";
  static core::encoding_summary summary() {
    return {.what = "rotary encoding on several axes: images, video",
            .formula = "y = R x, which turns pair t by sum_a p_a theta_at",
            .sources = {{"Heo et al. 2024", "https://arxiv.org/abs/2403.13298"},
                        {"Wang et al. 2024", "https://arxiv.org/abs/2409.12191"}},
            .also = {{"2D-RoPE: axial and mixed", "rope_axes/rotate and rope_axes/rotate_by"},
                     {"M-RoPE of Qwen2-VL", "`assignment` and `section_0` to `section_2` of rope_axes/rotate"}}};
  }

  template <class R>
  struct recipe : rotary_recipe<recipe, R> {
    recipe_step<R, R(const R& base, std::size_t t, std::size_t steps)> frequency = geometric_frequency<R>;
  };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records();

  /// An axis of positions and the exponent -step / steps of a pair.
  struct pair_on_axis {
    std::size_t axis, step, steps;
  };
  static std::vector<pair_on_axis> shared_out(const core::attributes& settings, std::size_t pairs, std::size_t axes);

 private:
  static std::array<core::operation, 2> declarations();
  static bool alternates(const core::attributes& settings) {
    return core::chosen<bool>(settings, "assignment", {{"blocks", false}, {"alternating", true}});
  }
  static std::string conflict(const core::attributes& settings, const core::axis_sizes& sizes);
  template <class R>
  struct turns_by_base;
  template <class R>
  struct turns_by_inputs;
};

inline std::vector<rope_axes::pair_on_axis> rope_axes::shared_out(const core::attributes& settings, std::size_t pairs,
                                                                  std::size_t axes) {
  enum class exponents { per_axis, shared, by_turns };
  const auto exponent = core::chosen<exponents>(
      settings, "exponent",
      {{"per_axis", exponents::per_axis}, {"shared", exponents::shared}, {"by_turns", exponents::by_turns}});
  const bool backwards = core::chosen<bool>(settings, "order", {{"xy", false}, {"yx", true}});
  const std::vector<std::size_t> counts = pairs_of_axes(settings, pairs, axes);
  const std::size_t m = counts.size();
  std::vector<std::size_t> taken(m, 0);
  std::vector<pair_on_axis> all;
  for (std::size_t t = 0, block = 0; t < pairs; ++t) {
    while (!alternates(settings) && taken[block] == counts[block]) ++block;
    const std::size_t turn = t % m, axis = !alternates(settings) ? block : t < m * counts[turn] ? turn : 0;
    const std::size_t i = taken[axis]++, column = backwards ? m - 1 - axis : axis;
    all.push_back(exponent == exponents::per_axis ? pair_on_axis{column, i, counts[axis]}
                  : exponent == exponents::shared ? pair_on_axis{column, t, pairs}
                                                  : pair_on_axis{column, m * i + axis, pairs});
  }
  return all;
}

inline std::string rope_axes::conflict(const core::attributes& settings, const core::axis_sizes& sizes) {
  const std::size_t axes = sizes.at("a"), pairs = turning_pairs(sizes.at("d"), settings);
  const std::string a = "a = " + std::to_string(axes);
  const std::vector<std::size_t> counts = sections_of(settings);
  if (axes == 0) return a + ": there is no axis";
  if (counts.size() > axes) return a + " axes are fewer than the " + std::to_string(counts.size()) + " sections";
  if (rotary_layout::has(settings, "halves", "axis") && alternates(settings))
    return "halves = \"axis\" are those of blocks, and assignment = \"alternating\" has none";
  if (counts.empty() && pairs % axes != 0)
    return a + " axes do not divide the " + std::to_string(pairs) + " pairs of d = " + std::to_string(sizes.at("d"));
  // By turns the first axis has pairs, too, that the others lack; its exponents by turns end at 1 as all others do.
  const bool by_turns = core::setting<std::string>(settings, "exponent") == "by_turns";
  for (std::size_t k = by_turns ? 0 : 1; k < counts.size() && (by_turns || alternates(settings)); ++k)
    if (counts[k] > 0 && counts.size() * (counts[k] - 1) + k >= pairs)
      return "section_" + std::to_string(k) + " = " + std::to_string(counts[k]) + " pairs are more than every " +
             (counts.size() == 3   ? "third"
              : counts.size() == 2 ? "second"
                                   : "one") +
             " of " + std::to_string(pairs);
  return conflict_of_pairs(pairs, "the sections' ", sizes);
}

template <class R>
struct rope_axes::turns_by_base : turns_by_frequency<R, recipe<R>> {
  std::size_t axes;
  std::vector<pair_on_axis> shared;

  turns_by_base(const arguments<R>& call, const recipe<R>& with, const turned_vectors&)
      : turns_by_frequency<R, recipe<R>>{
            with, layout_with_axes(call.settings, call["x"].shape(3), call.integers.at("position").shape()[2])} {
    const core::tensor& positions = call.integers.at("position");
    axes = positions.shape()[2];
    shared = shared_out(call.settings, this->layout.pairs, axes);
    const auto base = call.template setting<double>("base");
    const auto in_angles = [](auto compute) { return in_stage<R>(rotary_stage::angle, compute); };
    for (const auto& [axis, step, steps] : shared)
      this->theta.push_back(in_angles([&, step = step, steps = steps] {
        const R b = from_setting<R>(base);
        return or_product_of_factors(with.frequency(b, step, steps), b, step, steps);
      }));
    for (const double m : positions.values.storage())
      this->position.push_back(in_angles([&] { return from_integer<R>(m); }));
  }
  [[nodiscard]] std::vector<rotation<R>> rotations(std::size_t token) const {
    std::vector<rotation<R>> all;
    for (std::size_t t = 0; t < shared.size(); ++t)
      all.push_back(this->how.rotation_at(this->position[token * axes + shared[t].axis], this->theta[t]));
    return all;
  }
};

template <class R>
struct rope_axes::turns_by_inputs {
  using recipe = rope_axes::recipe<R>;
  const recipe& how;
  const field<R>&theta, &position;
  rotary_layout layout;

  turns_by_inputs(const arguments<R>& call, const recipe& with, const turned_vectors&)
      : how(with),
        theta(call["theta"]),
        position(call["position"]),
        layout(call.settings, call["x"].shape(3), theta.shape(2)) {}
  [[nodiscard]] std::vector<rotation<R>> rotations(std::size_t token, std::size_t head) const {
    const std::size_t axes = theta.shape(1), pairs = layout.pairs;
    std::vector<rotation<R>> all;
    for (std::size_t t = 0; t < pairs; ++t) {
      R angle(0.0);
      for (std::size_t k = 0; k < axes; ++k)
        angle = in_stage<R>(
            rotary_stage::angle,
            [k](const R& sum, const R& m, const R& f) { return k == 0 ? R(m * f) : R(sum + m * f); }, angle,
            position.storage()[token * axes + k], theta.storage()[(head * axes + k) * pairs + t]);
      all.push_back(how.rotation_at(angle, R(1.0)));
    }
    return all;
  }
};

inline std::array<core::operation, 2> rope_axes::declarations() {
  const auto section = [](const char* called, const std::vector<std::int64_t>& values, const char* of) {
    return integer(called, values, {0.0, 0x1p20}, std::string("pairs of the ") + of + " axis; all 0: equal shares");
  };
  const std::map<std::string, core::axis_role> roles{{"a", core::axis_role::parameter}};
  return {{rotation_declaration(
               {.name = "rope_axes/rotate",
                .source = "Heo et al. 2024, arXiv 2403.13298, eq. (9); Wang et al. 2024, arXiv 2409.12191, section 2.1",
                .inputs = {core::integers("position", {"B", "n", "a"}, "positions on each axis",
                                          {-2147483648.0, 2147483648.0}, core::input_role::position)},
                .attributes = {choice("assignment", {"blocks", "alternating"}, "how the pairs of axes follow"),
                               section("section_0", {0, 2, 3}, "first"), section("section_1", {0, 1, 2}, "second"),
                               section("section_2", {0, 1, 2}, "third"),
                               choice("exponent", {"per_axis", "shared", "by_turns"}, "what exponents count"),
                               choice("order", {"xy", "yx"}, "which axis comes first"), rotary_layout::declared(),
                               real("base", {10000.0, 100.0, 1000000.0}, {1.0, std::numeric_limits<double>::max()},
                                    "base of the frequencies"),
                               since({0, 2}, choice("halves", {"vector", "axis"}, "whose halves half_split pairs")),
                               since({0, 2}, integer("sections", {0, 3, 2}, {0.0, 3.0},
                                                     "axes that have a section; 0: up to the last that is not 0"))},
                .axis_roles = roles,
                .conflict = conflict,
                .named_only = true}),
           rotation_declaration(
               {.name = "rope_axes/rotate_by",
                .source = "Heo et al. 2024, arXiv 2403.13298, eq. (10)",
                .inputs = {core::parameter("theta", {"h", "a", "r"}, "frequencies"),
                           {.name = "position",
                            .axes = {"B", "n", "a"},
                            .meaning = "positions on each axis, real numbers",
                            .role = core::input_role::position}},
                .attributes = {rotary_layout::declared()},
                .stages = {{.name = std::string(core::accumulation),
                            .meaning = "the sums in grad_theta and grad_position"}},
                .axis_roles = roles,
                .conflict = [](const core::attributes&,
                               const core::axis_sizes& sizes) { return conflict_of_pairs(sizes.at("r"), "", sizes); },
                .named_only = true})}};
}

template <class R>
std::vector<rope_axes::record<R>> rope_axes::records() {
  const auto [rotate, rotate_by] = declarations();
  return {rotation_record<turns_by_base, R>(rotate), rotation_record<turns_by_inputs, R>(rotate_by)};
}

}  // namespace assay::reference::encodings
