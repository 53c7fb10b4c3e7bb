// xPos (Sun et al. 2022, "A Length-Extrapolatable Transformer", arXiv 2212.10554, eqs. (9) and (11)): RoPE whose pairs
// grow in queries and shrink in keys, so that scores decay with the distance, fast pairs first,
//
//   y = z_t (pair t of x, turned by m base^(-t/r)),  z_t = zeta_t^((m - c) / B),  zeta_t = (t/r + gamma) / (1 + gamma)
//
// The keys' z_t has the exponent -(m - c) / B: the setting `down`. r pairs are rotated and scaled; the coordinates from
// 2r on stay as they are. B is `scale_base`. c is `center`: scores do not depend on it. microsoft/torchscale has B =
// 512 and c = ceil(L/2) for L tokens, lucidrains/rotary-embedding-torch has floor(L/2), NVIDIA/NeMo B = 2048.
//
//   xpos/scale   position [n] i64                            -> z [n, r], r = `pairs`
//   xpos/rotate  x [B, n, h, d], position [B, n] i64          -> y [B, n, h, d]
//   xpos/scores  q [B, n, h u, d], k [B, m, h, d], query_position [B, n], key_position [B, m] i64
//     -> s [B, h u, n, m], as in rope/scores, for queries that grow and keys that shrink; u = `group`
//
// Domain: the product of a z that overflows and one that underflows is NaN, though the score is moderate. gamma = 0.4
// and B = 512 reach up to |m - c| = 36260 in f32 and bf16, 4532 in f16.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "reference/kinds/rotation.hpp"

namespace assay::reference::encodings {

struct xpos {
  static constexpr std::string_view name = "xpos";
  static core::encoding_summary summary() {
    return {.what = "rotary encoding with scales that decay",
            .formula = "y = zeta_t^((m - c) / B) R(m) x, for keys with the negative exponent",
            .sources = {{"Sun et al. 2022", "https://arxiv.org/abs/2212.10554"}}};
  }

  using traced = formula::traced;
  using index = formula::traced_integer;
  /// The number that is divided by B: keys shrink where queries grow.
  static index away_from(const index& position, std::int64_t center, bool is_key) {
    const index c = index::constant(center);
    return is_key ? c - position : position - c;
  }

  /// The steps that variants replace.
  struct scheme : rotation_scheme, recorded_scheme<scheme> {
    std::function<index(const index& position, std::int64_t center, bool is_key)> away = away_from;
    std::function<traced(const traced& zeta, const traced& exponent)> scale =
        [](const traced& zeta, const traced& exponent) { return pow(zeta, exponent); };
  };
  static std::vector<recorded_formula<scheme>> formulas();

 private:
  static std::array<core::operation, 3> declarations();
  /// z_t for `pairs` pairs; positions [..., 1].
  static traced scales(const scheme& steps, const recorded_call& in, const index& positions, std::size_t pairs,
                       bool is_key);
  static formula::program scale(const scheme& steps, const formula::program_sizes& call);
  /// Queries or keys, rotated and scaled, at the positions of this input.
  static traced turned_and_scaled(const scheme& steps, const recorded_call& in, const traced& x, const char* position,
                                  bool is_key);
  static formula::program rotate(const scheme& steps, const formula::program_sizes& call);
  static formula::program scores(const scheme& steps, const formula::program_sizes& call);
};

inline xpos::traced xpos::scales(const scheme& steps, const recorded_call& in, const index& positions,
                                 std::size_t pairs, bool is_key) {
  const traced gamma = in.number("gamma"), one(1.0);
  const traced share = to_real(formula::counted(pairs)) / traced::from_integer(static_cast<double>(pairs));
  const traced zeta = (share + gamma) / (one + gamma);
  const index away = steps.away(positions, in.setting<std::int64_t>("center"), is_key);
  return either(equal(away, index::constant(0)), one, steps.scale(zeta, to_real(away) / in.number("scale_base")));
}
inline formula::program xpos::scale(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const index positions = reshaped(in.integers("position"), {in.size("n"), 1});
  return in.finish(scales(steps, in, positions, in.size("r"), in.setting<bool>("down")));
}

inline xpos::traced xpos::turned_and_scaled(const scheme& steps, const recorded_call& in, const traced& x,
                                            const char* position, bool is_key) {
  const std::size_t d = in.size("d");
  const rotary_layout layout(in.settings(), d, turning_pairs(d, in.settings()));
  const auto [theta, m, z] = in_stage<traced>(rotary_stage::angle, [&] {
    const traced base = in.number("base"), positions = position_of(in, position);
    const index places = reshaped(in.integers(position), shape_of(positions));
    return std::tuple(
        or_products_of_factors(geometric_frequencies(base, layout.pairs, layout.pairs), base, layout.pairs), positions,
        scales(steps, in, places, layout.pairs, is_key));
  });
  return turned_vectors_of(
      steps, x, layout,
      scaled_rotation(steps.rotation_at(m, theta), in_stage<traced>(rotary_stage::table, [&scale = z] {
                        return taken_from(static_cast<std::size_t>(rotary_stage::angle), scale);
                      })));
}
inline formula::program xpos::rotate(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  return in.finish(turned_and_scaled(steps, in, in["x"], "position", in.setting<bool>("down")));
}
inline formula::program xpos::scores(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  return in.finish(scores_of_turned(in, turned_and_scaled(steps, in, in["q"], "query_position", false),
                                    turned_and_scaled(steps, in, in["k"], "key_position", true)));
}

inline std::array<core::operation, 3> xpos::declarations() {
  constexpr const char* source = "Sun et al. 2022, arXiv 2212.10554, eqs. (9) and (11)";
  constexpr double furthest = 2147483648.0;
  const auto positions = [](const char* called, std::vector<std::string> axes) {
    return core::integers(called, std::move(axes), "positions", {0.0, furthest}, core::input_role::position);
  };
  const std::vector<core::attribute_declaration> scaling{
      real("gamma", {0.4, 1.0}, {0x1p-10, 0x1p10},
           "gamma, which sets the decay of pairs: the fastest one has zeta = gamma / (1 + gamma)"),
      real("scale_base", {512.0, 2048.0, 700.7}, {1.0, std::numeric_limits<double>::max()},
           "B: what positions are divided by in the exponent of zeta"),
      integer("center", {0, 3, 100}, {0.0, furthest}, "c: the position that is not scaled")};
  const std::vector<core::attribute_declaration> turning{
      rotary_layout::declared(), rotary_setting(),
      real("base", {10000.0, 100.0, 500000.0}, {1.0, std::numeric_limits<double>::max()}, "b of the frequencies")};
  std::array<core::operation, 3> all{
      {{.name = "xpos/scale",
        .source = source,
        .inputs = {positions("position", {"n"})},
        .outputs = {{.name = "z", .axes = {"n", "r"}, .meaning = "scales", .scale = core::error_scale::relative}},
        .attributes = {integer("pairs", {4, 1, 2, 3, 8}, {1.0, 0x1p20}, "how many pairs of coordinates a head has",
                               "r")},
        .independent = {"n"}},
       rotation_declaration({.name = "xpos/rotate",
                             .source = source,
                             .inputs = {positions("position", {"B", "n"})},
                             .attributes = turning,
                             .conflict = conflict_of_rotation}),
       scores_declaration({.name = "xpos/scores",
                           .source = source,
                           .inputs = {positions("query_position", {"B", "n"}), positions("key_position", {"B", "m"})},
                           .attributes = turning,
                           .conflict = conflict_of_rotation})}};
  const core::error_growth with_exponent{.quantity = "largest position", .value_words = "position {}"};
  for (core::operation& op : all) {
    op.attributes.insert(op.attributes.end(), scaling.begin(), scaling.end());
    if (op.input("k") == nullptr)
      op.attributes.push_back(flag("down", false, "whether the scale is the reciprocal, as keys have it"));
    op.named_only = true;
    op.grows_with = with_exponent;  // not with_position: far rows overflow
  }
  return all;
}

inline std::vector<recorded_formula<xpos::scheme>> xpos::formulas() {
  const auto [scale_declaration, rotate_declaration, scores_operation] = declarations();
  return {{scale_declaration, scale}, {rotate_declaration, rotate}, {scores_operation, scores}};
}

}  // namespace assay::reference::encodings
