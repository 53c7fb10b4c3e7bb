// xPos (Sun et al. 2022, "A Length-Extrapolatable Transformer", arXiv 2212.10554, eqs. (9) and (11)): RoPE whose pairs
// grow in queries and shrink in keys, so that scores decay with the distance, fast pairs first,
//
//   y = z_t (pair t of x, turned by m base^(-t/r)),  z_t = zeta_t^((m - c) / B),  zeta_t = (t/r + gamma) / (1 + gamma)
//
// The keys' z_t has the exponent -(m - c) / B: the setting `down`. r pairs turn and scale, the coordinates from 2r on
// stay as they are. B is `scale_base`, c is `center`: scores do not depend on it. microsoft/torchscale has B = 512 and
// c = ceil(L/2) for L tokens, lucidrains/rotary-embedding-torch floor(L/2), NVIDIA/NeMo B = 2048.
//
//   xpos/scale   position [n] i64                            -> z [n, r], r = `pairs`
//   xpos/rotate  x [B, n, h, d], position [B, n] i64          -> y [B, n, h, d]
//   xpos/scores  q [B, n, h u, d], k [B, m, h, d], query_position [B, n], key_position [B, m] i64
//     -> s [B, h u, n, m], as rope/scores, of queries that grow and keys that shrink; u = `group`
//
// Domain: a product of a z that overflows and one that underflows is NaN, though the score is moderate. gamma = 0.4 and
// B = 512 reach up to |m - c| = 36260 in f32 and bf16, 4532 in f16.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "reference/algorithms/settings.hpp"
#include "reference/kinds/rotary_scores.hpp"
#include "reference/kinds/rotation.hpp"
#include "reference/kinds/table.hpp"

namespace assay::reference::encodings {

struct xpos {
  static constexpr std::string_view name = "xpos";
  static core::encoding_summary summary() {
    return {.what = "rotary encoding with scales that decay",
            .formula = "y = zeta_t^((m - c) / B) R(m) x, for keys with the negative exponent",
            .sources = {{"Sun et al. 2022", "https://arxiv.org/abs/2212.10554"}}};
  }

  /// What B divides: keys shrink where queries grow.
  static double away_from(double position, double center, bool of_keys) {
    return of_keys ? center - position : position - center;
  }

  template <class R>
  struct recipe : rotary_recipe<recipe, R> {
    recipe_step<R, R(const R& base, std::size_t t, std::size_t steps)> frequency = geometric_frequency<R>;
    recipe_step<R, double(double position, double center, bool of_keys)> away = away_from;
    recipe_step<R, R(const R& zeta, const R& exponent)> scale = [](const R& zeta, const R& e) { return pow(zeta, e); };
  };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records();

 private:
  static std::array<core::operation, 3> declarations();

  /// z_t by position.
  template <class R>
  struct scales {
    const recipe<R>& how;
    std::vector<R> zeta{};
    double base, center;
    bool down;

    scales(const arguments<R>& call, const recipe<R>& with, std::size_t pairs, bool of_keys)
        : how(with),
          base(call.template setting<double>("scale_base")),
          center(static_cast<double>(call.template setting<std::int64_t>("center"))),
          down(of_keys) {
      const auto gamma = call.template setting<double>("gamma");
      for (std::size_t t = 0; t < pairs; ++t)
        zeta.push_back(in_stage<R>(rotary_stage::angle, [&] {
          const R share = from_integer<R>(static_cast<double>(t)) / from_integer<R>(static_cast<double>(pairs));
          return (share + from_setting<R>(gamma)) / (R(1.0) + from_setting<R>(gamma));
        }));
    }
    [[nodiscard]] R of(double position, std::size_t t) const {
      const double away = how.away(position, center, down);
      if (away == 0.0) return R(1.0);
      return in_stage<R>(
          rotary_stage::angle, [&](const R& z) { return how.scale(z, from_integer<R>(away) / from_setting<R>(base)); },
          zeta[t]);
    }
  };
  template <class R>
  static rows<R> scale(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  struct turns;
};

template <class R>
rows<R> xpos::scale(const arguments<R>& call, const recipe<R>& how) {
  const auto pairs = static_cast<std::size_t>(call.template setting<std::int64_t>("pairs"));
  return {pairs, [by = scales<R>(call, how, pairs, call.template setting<bool>("down")),
                  &positions = call.integers.at("position").values.storage()](std::size_t i, R* row) {
            for (std::size_t t = 0; t < by.zeta.size(); ++t) row[t] = by.of(positions[i], t);
          }};
}

template <class R>
struct xpos::turns : turns_by_frequency<R, recipe<R>> {
  const core::tensor& at;
  scales<R> by;

  turns(const arguments<R>& call, const recipe<R>& with, const turned_vectors& of)
      : turns_by_frequency<R, recipe<R>>{with,
                                         {call.settings, call[of.x].shape(3),
                                          turning_pairs(call[of.x].shape(3), call.settings)}},
        at(call.integers.at(of.position)),
        by(call, with, this->layout.pairs,
           of.keys || (call.settings.contains("down") && call.template setting<bool>("down"))) {
    const auto in_angles = [](auto compute) { return in_stage<R>(rotary_stage::angle, compute); };
    const auto base = call.template setting<double>("base");
    const std::size_t pairs = this->layout.pairs;
    for (std::size_t t = 0; t < pairs; ++t)
      this->theta.push_back(in_angles([&] {
        const R b = from_setting<R>(base);
        return or_product_of_factors(with.frequency(b, t, pairs), b, t, pairs);
      }));
    for (const double m : at.values.storage()) this->position.push_back(in_angles([&] { return from_integer<R>(m); }));
  }
  [[nodiscard]] std::vector<rotation<R>> rotations(std::size_t token) const {
    std::vector<rotation<R>> all = turns_by_frequency<R, recipe<R>>::rotations(token);
    for (std::size_t t = 0; t < all.size(); ++t) {
      const R z = taken_by(rotary_stage::table, rotary_stage::angle, by.of(at.values.storage()[token], t));
      all[t] = of_magnitude(all[t], z);
    }
    return all;
  }
};

inline std::array<core::operation, 3> xpos::declarations() {
  constexpr const char* source = "Sun et al. 2022, arXiv 2212.10554, eqs. (9) and (11)";
  constexpr double furthest = 2147483648.0;
  const auto positions = [](const char* called, std::vector<std::string> axes) {
    return core::integers(called, std::move(axes), "positions", {0.0, furthest}, core::input_role::position);
  };
  const std::vector<core::attribute_declaration> scaling{
      real("gamma", {0.4, 1.0}, {0x1p-10, 0x1p10}, "the fastest pair has zeta = gamma / (1 + gamma)"),
      real("scale_base", {512.0, 2048.0, 700.7}, {1.0, std::numeric_limits<double>::max()}, "B: divides the positions"),
      integer("center", {0, 3, 100}, {0.0, furthest}, "c: the position that is not scaled")};
  const std::vector<core::attribute_declaration> turning{
      rotary_layout::declared(), rotary_setting(),
      real("base", {10000.0, 100.0, 500000.0}, {1.0, std::numeric_limits<double>::max()}, "base of the frequencies")};
  std::array<core::operation, 3> all{
      {{.name = "xpos/scale",
        .source = source,
        .inputs = {positions("position", {"n"})},
        .outputs = {{.name = "z", .axes = {"n", "r"}, .meaning = "scales", .scale = core::error_scale::relative}},
        .attributes = {integer("pairs", {4, 1, 2, 3, 8}, {1.0, 0x1p20}, "pairs of coordinates", "r")}},
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
  const core::error_growth with_exponent{.quantity = "largest position", .at = "position {}"};
  for (core::operation& op : all) {
    op.attributes.insert(op.attributes.end(), scaling.begin(), scaling.end());
    if (op.input("k") == nullptr) op.attributes.push_back(flag("down", false, "keys: the reciprocal"));
    op.named_only = true;
    op.grows_with = with_exponent;  // not with_position: far rows overflow
  }
  return all;
}

template <class R>
std::vector<xpos::record<R>> xpos::records() {
  const auto [scale, rotate, scores] = declarations();
  return {table_record<xpos, R, xpos::scale<R>>(scale), rotation_record<turns, R>(rotate),
          scores_record<turns, R>(scores)};
}

}  // namespace assay::reference::encodings
