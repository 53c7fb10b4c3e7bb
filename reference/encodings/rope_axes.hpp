// Rotary position embedding on several axes: width and height of an image, time. Pairs of coordinates are rotated as in
// RoPE (Su et al. 2021, arXiv 2104.09864); the angle of a pair is
//
//   rope_axes/rotate     p_k base^(-e)       of one axis k: axial (Heo et al. 2024, arXiv 2403.13298, eq. (9)), M-RoPE
//     (Wang et al. 2024, "Qwen2-VL", arXiv 2409.12191, section 2.1)
//   rope_axes/rotate_by  sum_k p_k theta_k   of all axes, with frequencies of each head: mixed (eq. (10))
//
// Shapes: x [B, n, h, d], position [B, n, a] -> y [B, n, h, d]; theta [h, a, r] of rotate_by. Positions are i64 (exact)
// in rotate, and real in rotate_by.
//
// Pairs are divided among the axes:
//   `section_0` to `section_2`: the numbers of pairs of the first three axes. Where all are 0, each of the a axes has
//     an equal share of floor(d/2), which a must divide. r is their sum: the coordinates from 2r on stay as they are.
//   `sections`: how many axes have a section; the last ones may be 0. 0 means: the axes up to the last that is not 0.
//   `assignment` "blocks": the pairs of the first axis, then those of the second (rope-vit; Qwen2-VL: 16, 24, 24);
//     "alternating": one of each axis in turn; pairs that an axis lacks belong to the first axis (Qwen3-VL: 24, 20,
//     20).
//   `exponent` e of pair t, which is number i of its axis k; the axis has s pairs, and m axes have a section:
//     "per_axis" i/s (rope-vit, Llama 4), "shared" t/r (M-RoPE), "by_turns" (m i + k)/r < 1 (Pixtral)
//   `halves` of the layout half_split: "vector": the halves of all pairs; "axis": each axis has a block of coordinates,
//     and its pairs are the halves of this block (croco's RoPE2D, of DUSt3R and MASt3R; VGGT). Not where axes
//     alternate.
//   `order` "xy": the first axis is the first number of a position; "yx": axes count from the last one.
//
// Position 0 on all axes is the identity: class tokens.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

  using traced = formula::traced;
  /// The steps that variants replace.
  struct scheme : rotation_scheme, recorded_scheme<scheme> {};
  static std::vector<recorded_formula<scheme>> formulas();

  /// An axis of positions and the exponent -step / divisor of a pair.
  struct pair_on_axis {
    std::size_t axis, step, divisor;
  };
  static std::vector<pair_on_axis> shared_out(const core::attributes& settings, std::size_t pairs, std::size_t axes);

 private:
  static std::array<core::operation, 2> declarations();
  static bool alternates(const core::attributes& settings) {
    return core::chosen<bool>(settings, "assignment", {{"blocks", false}, {"alternating", true}});
  }
  static std::string conflict(const core::attributes& settings, const core::axis_sizes& sizes);
  /// base^(-step / divisor) for each pair.
  static traced frequencies(const recorded_call& in, const std::vector<pair_on_axis>& shared);
  static formula::program rotate(const scheme& steps, const formula::program_sizes& call);
  static formula::program rotate_by(const scheme& steps, const formula::program_sizes& call);
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
    return "halves = \"axis\" needs blocks, and assignment = \"alternating\" has none";
  if (counts.empty() && pairs % axes != 0)
    return a + " axes do not divide the " + std::to_string(pairs) + " pairs of d = " + std::to_string(sizes.at("d"));
  // With alternating axes the first axis also has the pairs that the others lack. With "by_turns" its exponents stay
  // below 1 as all others do.
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

inline rope_axes::traced rope_axes::frequencies(const recorded_call& in, const std::vector<pair_on_axis>& shared) {
  const traced base = in.number("base");
  // Pairs with equal `divisor` share one series of frequencies, and each pair uses one of them.
  std::map<std::size_t, std::size_t> counts;
  for (const pair_on_axis& pair : shared) counts[pair.divisor] = std::max(counts[pair.divisor], pair.step + 1);
  std::map<std::size_t, std::size_t> first;
  std::vector<traced> series;
  std::size_t all = 0;
  for (const auto& [divisor, count] : counts) {
    series.push_back(or_products_of_factors(geometric_frequencies(base, count, divisor), base, divisor));
    first[divisor] = all;
    all += count;
  }
  std::vector<std::int64_t> places;
  for (const pair_on_axis& pair : shared) places.push_back(static_cast<std::int64_t>(first[pair.divisor] + pair.step));
  return gathered(formula::joined(series, 0), formula::known_integers({places.size()}, places), 0);
}

inline formula::program rope_axes::rotate(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced x = in["x"];
  const rotary_layout layout = layout_with_axes(call.settings, in.size("d"), in.size("a"));
  const std::vector<pair_on_axis> shared = shared_out(call.settings, layout.pairs, in.size("a"));
  const traced position = position_of(in, "position");
  if (shared.empty()) return in.finish(x);
  std::vector<std::int64_t> axes;
  for (const pair_on_axis& pair : shared) axes.push_back(static_cast<std::int64_t>(pair.axis));
  const auto [theta, m] = in_stage<traced>(rotary_stage::angle, [&] {
    return std::pair(frequencies(in, shared), gathered(position, formula::known_integers({axes.size()}, axes), 3));
  });
  return in.finish(turned_vectors_of(steps, x, layout, steps.rotation_at(m, theta)));
}

inline formula::program rope_axes::rotate_by(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const std::size_t rows = in.size("B"), n = in.size("n"), h = in.size("h"), r = in.size("r");
  const traced x = in["x"], theta = in["theta"], position = in["position"];
  traced angle(0.0);
  for (std::size_t k = 0; k < in.size("a"); ++k)
    angle = in_stage<traced>(rotary_stage::angle, [&] {
      const traced angle_of_axis =
          reshaped(between(position, 2, k, k + 1), {rows, n, 1, 1}) * reshaped(between(theta, 1, k, k + 1), {h, r});
      return k == 0 ? angle_of_axis : angle + angle_of_axis;
    });
  return in.finish(turned_vectors_of(steps, x, {call.settings, in.size("d"), r},
                                     steps.rotation_at(broadcast(angle, {rows, n, h, r}), traced(1.0))));
}

inline std::array<core::operation, 2> rope_axes::declarations() {
  const auto section = [](const char* called, const std::vector<std::int64_t>& values, const char* axis) {
    return integer(called, values, {0.0, 0x1p20},
                   std::string("how many pairs the ") + axis + " axis has; all 0: all axes have equally many");
  };
  const std::map<std::string, core::axis_role> roles{{"a", core::axis_role::parameter}};
  return {
      {rotation_declaration(
           {.name = "rope_axes/rotate",
            .source = "Heo et al. 2024, arXiv 2403.13298, eq. (9); Wang et al. 2024, arXiv 2409.12191, section 2.1",
            .inputs = {core::integers("position", {"B", "n", "a"}, "positions on each axis",
                                      {-2147483648.0, 2147483648.0}, core::input_role::position)},
            .attributes = {choice("assignment", {"blocks", "alternating"},
                                  "how the pairs of the axes lie: axis after axis, or one of each by turns"),
                           section("section_0", {0, 2, 3}, "first"), section("section_1", {0, 1, 2}, "second"),
                           section("section_2", {0, 1, 2}, "third"),
                           choice("exponent", {"per_axis", "shared", "by_turns"},
                                  "what the exponents of frequencies count: the pairs of an axis i/s, all pairs t/r, "
                                  "or those of all axes by turns"),
                           choice("order", {"xy", "yx"},
                                  "which number of a position is the first axis: the first one, or the last one"),
                           rotary_layout::declared(),
                           real("base", {10000.0, 100.0, 1000000.0}, {1.0, std::numeric_limits<double>::max()},
                                "b of the frequencies"),
                           since({0, 2}, choice("halves", {"vector", "axis"},
                                                "what half_split halves: the whole vector, or the block of each axis")),
                           since({0, 2},
                                 integer("sections", {0, 3, 2}, {0.0, 3.0},
                                         "how many axes have a section; 0: all up to the last section that is not 0"))},
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

inline std::vector<recorded_formula<rope_axes::scheme>> rope_axes::formulas() {
  const auto [rotation, rotation_by] = declarations();
  return {{rotation, rotate}, {rotation_by, rotate_by}};
}

}  // namespace assay::reference::encodings
