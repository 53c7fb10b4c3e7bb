// Rotary position embedding (Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021,
// arXiv 2104.09864): pairs of coordinates are turned by angles that grow with the position m, counted from 0,
//
//   angle of pair t = m theta_t,   theta_t = base^(-t/r), t = 0 ... r-1   eqs. (15), (34)
//
// Pair t is (x_2t, x_2t+1) where the layout is "interleaved" (the paper) and (x_t, x_t+r) where it is "half_split"
// (EleutherAI/gpt-neox, huggingface/transformers). r pairs rotate, the coordinates from 2r on stay as they are.
//
//   rope/frequencies  base [k], r = `pairs`                 -> theta [k, r]
//     scaling "interpolation" (Chen et al. 2023, arXiv 2306.15595): theta / factor
//     scaling "ntk": of base' = base factor^(r/(r-1)), so that theta_0 = 1 and theta_{r-1} is divided by the factor;
//     it is read as base^(-t/r) factor^(-t/(r-1)), which overflows in no format. One pair has theta_0 = 1.
//   rope/extended_frequencies  base [k]                     -> theta [k, r]: yarn, llama3, dynamic and others, by
//     algorithms/extended_frequencies.hpp
//   rope/divided_frequencies   base [k], factors [r]        -> theta [k, r], theta_t / factors_t (LongRoPE, Ding et al.
//     2024, arXiv 2402.13753)
//   rope/switched_frequencies  base [k], short_factor [r], long_factor [r] -> theta [k, r], divided by one of the two:
//     by the long one where L = `length` is above L0 = `trained_length`, or, by `switch`, at L0 as well. No element of
//     the other is used, and its gradient is 0.
//   rope/magnitude    factor s [k]                          -> magnitude [k]; 1 for s <= 1
//     rule "yarn": c log s / 10 + 1, c = `mscale`; "ratio": that over the same with `mscale_all_dim` (DeepSeek), of
//     which 0 is a number like others: it divides by 1 (huggingface/transformers: not given, yarn with c = 1);
//     "su": sqrt(1 + log s / log L0), L0 = `trained_length` (LongRoPE)
//   rope/rotate       x [B, n, h, d], position [B, n] i64    -> y [B, n, h, d], angle m / position_scale theta_t
//     `rotary` pairs rotate, all floor(d/2) where it is 0; theta_t has their number for r. d may be odd.
//     `direction` "clockwise": by the negative angle (karpathy/nanochat). `partial` "proportional": the first of all
//     pairs of the head, with their frequencies (Gemma 4); `at` "end": a block of the last coordinates (DeepSeek).
//     `magnitude` multiplies the coordinates of pairs that rotate, and no others, as tables of cosines and sines times
//     `attention_scaling` do (huggingface/transformers).
//   rope/rotate_by    x [B, n, h, d], theta [r], position [B, n] real -> y, 2r <= d
//   rope/scores       q [B, n, h u, d], k [B, m, h, d], query_position [B, n], key_position [B, m] i64
//     -> s [B, h u, n, m] = scale logit_factor (R_i q_i) . (R_j k_j), R as of rope/rotate; scale is 1 / sqrt(d) or 1,
//     and `logit_factor` what some multiply all logits by (mscale^2 of DeepSeek), whichever coordinates turn;
//     u = `group`.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "reference/algorithms/extended_frequencies.hpp"
#include "reference/kinds/rotary_scores.hpp"
#include "reference/kinds/rotation.hpp"
#include "reference/kinds/table.hpp"

namespace assay::reference::encodings {

struct rope {
  static constexpr std::string_view name = "rope";
  static core::encoding_summary summary() {
    return {.what = "rotary encoding, with the scalings for longer contexts: YaRN, Llama 3, LongRoPE, NTK",
            .formula = "y = R(m) x, which turns pair t by m b^(-2t/d)",
            .sources = {{"Su et al. 2021", "https://arxiv.org/abs/2104.09864"}},
            .also = {{"YaRN, Llama 3, dynamic NTK", "`scaling` of rope/extended_frequencies"},
                     {"LongRoPE, Phi-3", "rope/switched_frequencies"},
                     {"partial rotary of GPT-J, GPT-NeoX, Gemma 4", "`rotary` and `partial` of rope/rotate"}}};
  }

  /// The parts of the formula: what mutants replace.
  template <class R>
  struct recipe : rotary_recipe<recipe, R> {
    recipe_step<R, R(const R& base, std::size_t t, std::size_t steps)> frequency = geometric_frequency<R>;
    /// The steps of the exponent by features, pairs that have frequencies, and those of them that rotate.
    recipe_step<R, std::size_t(std::size_t features, std::size_t pairs, std::size_t turning)> steps =
        [](std::size_t, std::size_t pairs, std::size_t) { return pairs; };
    /// What "ntk" multiplies a frequency by.
    recipe_step<R, R(const R& factor, std::size_t t, std::size_t pairs)> stretch =
        [](const R& factor, std::size_t t, std::size_t pairs) { return geometric_frequency<R>(factor, t, pairs - 1); };
    recipe_step<R, ramp_of_pairs<R>(const extension& by, const R& base)> ramp = ramp_of<R>;
    recipe_step<R, R(const extension& by, const ramp_of_pairs<R>& ramp, const R& base, const R& theta, std::size_t t)>
        extend = extended_frequency<R>;
    recipe_step<R, R(const core::attributes& settings, const R& factor)> magnitude = magnitude_at<R>;
  };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records();

 private:
  static std::array<core::operation, 8> declarations();
  static std::size_t pairs_of(const core::attributes& settings) {
    return static_cast<std::size_t>(core::setting<std::int64_t>(settings, "pairs"));
  }
  template <class R>
  static rows<R> frequencies(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static rows<R> extended(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static rows<R> divided_by(const field<R>& factors, const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static rows<R> divided(const arguments<R>& call, const recipe<R>& how) {
    return divided_by(call["factors"], call, how);
  }
  static bool is_long(const core::attributes& settings);
  template <class R>
  static rows<R> switched(const arguments<R>& call, const recipe<R>& how) {
    return divided_by(call[is_long(call.settings) ? "long_factor" : "short_factor"], call, how);
  }
  template <class R>
  static rows<R> magnitudes(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  struct turns_by_base;
  template <class R>
  struct turns_by_inputs;
};

/// theta_t of `pairs` pairs, stretched as the settings say.
template <class R>
rows<R> rope::frequencies(const arguments<R>& call, const recipe<R>& how) {
  enum class scaling { none, ntk, interpolation };
  const auto by = core::chosen<scaling>(
      call.settings, "scaling",
      {{"none", scaling::none}, {"ntk", scaling::ntk}, {"interpolation", scaling::interpolation}});
  const std::size_t pairs = pairs_of(call.settings);
  const R factor = from_setting<R>(call.template setting<double>("factor"));
  return {pairs, [&how, &base = call["base"], by, pairs, factor](std::size_t k, R* row) {
            for (std::size_t t = 0; t < pairs; ++t) {
              row[t] = how.frequency(base(k), t, how.steps(2 * pairs, pairs, pairs));
              if (by == scaling::ntk && pairs > 1) row[t] = row[t] * how.stretch(factor, t, pairs);
              if (by == scaling::interpolation) row[t] = row[t] / factor;
            }
          }};
}

/// The same for longer contexts (algorithms/extended_frequencies.hpp).
template <class R>
rows<R> rope::extended(const arguments<R>& call, const recipe<R>& how) {
  return {pairs_of(call.settings), [&how, &base = call["base"], by = extension(call.settings)](std::size_t k, R* row) {
            const ramp_of_pairs<R> ramp = how.ramp(by, base(k));
            for (std::size_t t = 0; t < by.pairs; ++t)
              row[t] = how.extend(by, ramp, base(k), how.frequency(base(k), t, by.pairs), t);
          }};
}
template <class R>
rows<R> rope::divided_by(const field<R>& factors, const arguments<R>& call, const recipe<R>& how) {
  return {factors.size(), [&how, &base = call["base"], &factors](std::size_t k, R* row) {
            for (std::size_t t = 0; t < factors.size(); ++t)
              row[t] = how.frequency(base(k), t, factors.size()) / factors(t);
          }};
}
inline bool rope::is_long(const core::attributes& settings) {
  const auto length = core::setting<std::int64_t>(settings, "length"),
             trained = core::setting<std::int64_t>(settings, "trained_length");
  const bool at_it = core::chosen<bool>(settings, "switch", {{"above", false}, {"at_or_above", true}});
  return at_it ? length >= trained : length > trained;
}
template <class R>
rows<R> rope::magnitudes(const arguments<R>& call, const recipe<R>& how) {
  return {1, [&how, &call](std::size_t k, R* row) { *row = how.magnitude(call.settings, call["factor"](k)); }};
}

template <class R>
struct rope::turns_by_base : turns_by_frequency<R, recipe<R>> {
  turns_by_base(const arguments<R>& call, const recipe<R>& with, const turned_vectors& of)
      : turns_by_frequency<R, recipe<R>>{
            with, {call.settings, call[of.x].shape(3), turning_pairs(call[of.x].shape(3), call.settings)}} {
    const auto base = call.template setting<double>("base"), scale = call.template setting<double>("position_scale"),
               multiplied_by = call.template setting<double>("magnitude");
    const bool backwards =
        core::chosen<bool>(call.settings, "direction", {{"counterclockwise", false}, {"clockwise", true}});
    const auto in_angles = [](auto compute) { return in_stage<R>(rotary_stage::angle, compute); };
    const std::size_t steps = with.steps(this->layout.features, this->layout.all_pairs(), this->layout.pairs);
    for (std::size_t t = 0; t < this->layout.pairs; ++t)
      this->theta.push_back(in_angles([&] {
        const R b = from_setting<R>(base), found = or_product_of_factors(with.frequency(b, t, steps), b, t, steps);
        return backwards ? -found : found;
      }));
    for (const double m : call.integers.at(of.position).values.storage())
      this->position.push_back(
          in_angles([&] { return scale == 1.0 ? from_integer<R>(m) : from_integer<R>(m) / from_setting<R>(scale); }));
    if (multiplied_by != 1.0) this->magnitude = in_angles([&] { return from_setting<R>(multiplied_by); });
  }
};

template <class R>
struct rope::turns_by_inputs : turns_by_frequency<R, recipe<R>> {
  turns_by_inputs(const arguments<R>& call, const recipe<R>& with, const turned_vectors& of)
      : turns_by_frequency<R, recipe<R>>{with, {call.settings, call[of.x].shape(3), call["theta"].size()}} {
    this->theta.assign(call["theta"].storage().begin(), call["theta"].storage().end());
    this->position.assign(call[of.position].storage().begin(), call[of.position].storage().end());
  }
};

inline std::array<core::operation, 8> rope::declarations() {
  constexpr const char* source = "Su et al. 2021, arXiv 2104.09864, eqs. (15) and (34)";
  constexpr double largest = std::numeric_limits<double>::max();
  const auto factor = [](double low) { return real("factor", {low, 2.0, 4.0, 3.5}, {low, 0x1p31}, "how much longer"); };
  // A power: it has the relative accuracy of its logarithm, and angles m theta need all of it.
  const core::tensor_declaration frequencies{
      .name = "theta", .axes = {"k", "r"}, .meaning = "frequencies", .scale = core::error_scale::relative};
  const auto pairs = [](const std::vector<std::int64_t>& values) {
    return integer("pairs", values, {1.0, 0x1p20}, "pairs of coordinates", "r");
  };
  const auto positions = [](const char* called, const char* tokens) {
    return core::integers(called, {"B", tokens}, "positions", {0.0, 2147483648.0}, core::input_role::position);
  };
  const std::vector<core::attribute_declaration> of_rotation{
      rotary_layout::declared(),
      rotary_setting(),
      real("base", {10000.0, 100.0, 500000.0}, {1.0, largest}, "base of the frequencies"),
      real("position_scale", {1.0, 4.0}, {1.0, largest}, "divides the positions"),
      choice("direction", {"counterclockwise", "clockwise"}, "by m theta or by -m theta"),
      choice("partial", {"block", "proportional"}, "fewer pairs are a head of their own, or the first of all pairs"),
      choice("at", {"start", "end"}, "which coordinates turn where not all do"),
      real("magnitude", {1.0, 1.3465735902799727}, {0x1p-20, 0x1p20}, "multiplies the coordinates that turn")};
  const auto length = [](const std::vector<std::int64_t>& values) {
    return integer("length", values, {1.0, 0x1p31}, "L, of this sequence");
  };
  const auto trained_length = [](const std::vector<std::int64_t>& values, double low, const char* meaning) {
    return integer("trained_length", values, {low, 0x1p31}, meaning);
  };
  const auto divisors = [](const char* name, const char* meaning) {
    return core::parameter(name, {"r"}, meaning, {0x1p-20, largest});
  };
  const auto base = [](double low) { return core::parameter("base", {"k"}, "base of the frequencies", {.low = low}); };
  core::tensor_declaration fixed_base = base(2.0);
  fixed_base.differentiable = false;  // a number of a configuration: floors and ramps of it are no function to train
  return {
      {{.name = "rope/frequencies",
        .source = source,
        .inputs = {base(1.0)},
        .outputs = {frequencies},
        .attributes = {pairs({1, 2, 3, 4, 8}),
                       choice("scaling", {"none", "ntk", "interpolation"}, "for longer contexts"), factor(1.0)}},
       {.name = "rope/extended_frequencies",
        .source = "Peng et al. 2023, arXiv 2309.00071; Grattafiori et al. 2024, arXiv 2407.21783",
        .inputs = {fixed_base},
        .outputs = {frequencies},
        .attributes = {pairs({8, 64, 32, 48, 1, 2}),
                       choice("scaling", {"yarn", "llama3", "dynamic", "dynamic_steps", "ntk_fixed", "ntk_mixed"},
                              "for longer contexts"),
                       real("factor", {4.0, 8.0, 40.0, 1.0, 3.5, 1.001}, {1.0, 0x1p31}, "how much longer"),
                       trained_length({8192, 4096, 32768, 2048, 131072, 16}, 1.0, "L0, in tokens"),
                       length({8192, 4096, 4097, 8191, 131072, 131073, 100000, 1}),
                       real("beta_fast", {32.0, 4.0}, {0x1p-10, 0x1p20}, "turns of a pair that yarn leaves alone"),
                       real("beta_slow", {1.0, 2.0}, {0x1p-10, 0x1p20}, "turns of a pair that it interpolates"),
                       flag("truncate", true, "lo and hi of yarn are integers"),
                       choice("ramp", {"index", "turns"}, "what the ramp of yarn is linear in"),
                       choice("last", {"width", "pairs"}, "what cuts hi of yarn: d - 1 or r - 1"),
                       choice("blend", {"frequencies", "wavelengths"}, "what the ramp of yarn weighs"),
                       real("low", {1.0, 0.5}, {0x1p-10, 0x1p20}, "turns of a pair that llama3 interpolates"),
                       real("high", {4.0, 32.0, 1.0}, {0x1p-10, 0x1p20}, "turns of a pair that it leaves alone"),
                       real("mixed", {0.625, 1.0}, {0x1p-10, 4.0}, "beta of ntk_mixed"),
                       since({0, 2},
                             choice("crossed", {"reversed", "step", "turns"}, "the ramp of yarn where hi < lo"))},
        .conflict = [](const core::attributes& settings,
                       const core::axis_sizes&) { return conflict_of_extension(settings); }},
       {.name = "rope/divided_frequencies",
        .source = "Ding et al. 2024, arXiv 2402.13753",
        .inputs = {base(1.0), divisors("factors", "what divides each frequency")},
        .outputs = {frequencies}},
       {.name = "rope/switched_frequencies",
        .source = "Ding et al. 2024, arXiv 2402.13753; huggingface/transformers, \"longrope\"",
        .inputs = {base(1.0), divisors("short_factor", "what divides each frequency of short sequences"),
                   divisors("long_factor", "what divides each frequency of long ones")},
        .outputs = {frequencies},
        .attributes = {trained_length({4096, 8192}, 1.0, "L0, in tokens"), length({4096, 4097, 4095, 8192, 131072}),
                       choice("switch", {"above", "at_or_above"}, "lengths that are long: above L0, or L0, too")}},
       {.name = "rope/magnitude",
        .source = "Peng et al. 2023, arXiv 2309.00071, eq. (22); Ding et al. 2024, arXiv 2402.13753",
        .inputs = {core::parameter("factor", {"k"}, "how much longer", {.low = 0x1p-20})},
        .outputs = {{.name = "magnitude",
                     .axes = {"k"},
                     .meaning = "what multiplies queries and keys",
                     .scale = core::error_scale::relative}},
        .attributes = {choice("rule", {"yarn", "ratio", "su"},
                              "0.1 mscale log s + 1, that over the same of mscale_all_dim, sqrt(1 + log s / log L0)"),
                       real("mscale", {1.0, 0.707}, {0.0, 0x1p20}, "of yarn and ratio"),
                       real("mscale_all_dim", {1.0, 0.707, 0.0}, {0.0, 0x1p20}, "of ratio; of 0 the divisor is 1"),
                       trained_length({4096, 8192, 3}, 2.0, "L0 of su")}},
       rotation_declaration({.name = "rope/rotate",
                             .source = source,
                             .inputs = {positions("position", "n")},
                             .attributes = of_rotation,
                             .conflict = conflict_of_rotation}),
       rotation_declaration(
           {.name = "rope/rotate_by",
            .source = source,
            .inputs = {core::parameter("theta", {"r"}, "frequencies"),
                       {.name = "position",
                        .axes = {"B", "n"},
                        .meaning = "positions, real numbers",
                        .role = core::input_role::position}},
            .attributes = {rotary_layout::declared()},
            .stages = {{.name = std::string(core::accumulation),
                        .meaning = "the sums in grad_theta and grad_position"}},
            .conflict = [](const core::attributes&,
                           const core::axis_sizes& sizes) { return conflict_of_pairs(sizes.at("r"), "", sizes); }}),
       scores_declaration({.name = "rope/scores",
                           .source = source,
                           .inputs = {positions("query_position", "n"), positions("key_position", "m")},
                           .attributes = of_rotation,
                           .conflict = conflict_of_rotation})}};
}

template <class R>
std::vector<rope::record<R>> rope::records() {
  const auto [frequencies, extended, divided, switched, magnitudes, rotate, rotate_by, scores] = declarations();
  return {table_record<rope, R, rope::frequencies<R>>(frequencies), table_record<rope, R, rope::extended<R>>(extended),
          table_record<rope, R, rope::divided<R>>(divided),         table_record<rope, R, rope::switched<R>>(switched),
          table_record<rope, R, rope::magnitudes<R>>(magnitudes),   rotation_record<turns_by_base, R>(rotate),
          rotation_record<turns_by_inputs, R>(rotate_by),           scores_record<turns_by_base, R>(scores)};
}

}  // namespace assay::reference::encodings
