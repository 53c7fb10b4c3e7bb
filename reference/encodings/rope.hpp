// Rotary position embedding (Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021, arXiv
// 2104.09864): pairs of coordinates are rotated by angles that grow with the position m, counted from 0,
//
//   angle of pair t = m theta_t,   theta_t = base^(-t/r), t = 0 ... r-1   eqs. (15), (34)
//
// Pair t is (x_2t, x_2t+1) where the layout is "interleaved" (the paper) and (x_t, x_t+r) where it is "half_split"
// (EleutherAI/gpt-neox, huggingface/transformers). r pairs rotate, the coordinates from 2r on stay as they are.
//
//   rope/frequencies  base [k], r = `pairs`                 -> theta [k, r]
//     scaling "interpolation" (Chen et al. 2023, arXiv 2306.15595): theta / factor
//     scaling "ntk": frequencies of base' = base factor^(r/(r-1)), so that theta_0 = 1 and theta_{r-1} is divided by
//     the factor; computed as base^(-t/r) factor^(-t/(r-1)), which overflows in no format. One pair has theta_0 = 1.
//   rope/extended_frequencies  base [k]                     -> theta [k, r]: yarn, llama3, dynamic and others, by
//     algorithms/extended_frequencies.hpp
//   rope/divided_frequencies   base [k], factors [r]        -> theta [k, r], theta_t / factors_t (LongRoPE, Ding et al.
//     2024, arXiv 2402.13753)
//   rope/switched_frequencies  base [k], short_factor [r], long_factor [r] -> theta [k, r], divided by one of the two
//     lists: by the long one where L = `length` is above L0 = `trained_length`, or, with `switch`, at L0 as well. No
//     element of the other list is used, and its gradient is 0.
//   rope/magnitude    factor s [k]                          -> magnitude [k]; 1 for s <= 1
//     rule "yarn": c log s / 10 + 1, c = `mscale`; "ratio": this divided by the same with `mscale_all_dim` (DeepSeek).
//     A `mscale_all_dim` of 0 is a number like others: it divides by 1 (huggingface/transformers: not given, yarn with
//     c = 1).
//     "su": sqrt(1 + log s / log L0), L0 = `trained_length` (LongRoPE)
//   rope/rotate       x [B, n, h, d], position [B, n] i64 -> y [B, n, h, d], angle (m / position_scale) theta_t
//     `rotary` pairs rotate, or all floor(d/2) where it is 0; the r of theta_t is their number. d may be odd.
//     `direction` "clockwise": by the negative angle (karpathy/nanochat). `partial` "proportional": the first of all
//     pairs of the head, with their frequencies (Gemma 4); `at` "end": a block of the last coordinates (DeepSeek).
//     `magnitude` multiplies only the coordinates of pairs that rotate, as do tables of cosines and sines times
//     `attention_scaling` (huggingface/transformers).
//   rope/rotate_extended   x [B, n, h, d], position [B, n] i64 -> y: the whole call of a model. Its frequencies are
//     those of rope/extended_frequencies for the rotated pairs. Its magnitude, for the same factor, is that of `rule`
//     in rope/magnitude, or `magnitude` where the rule is "given" (`attention_factor`)
//   rope/rotate_divided    x [B, n, h, d], factors [r], position [B, n] i64 -> y: the same with frequencies
//     theta_t / factors_t of r pairs: LongRoPE, with the list for the lengths in use
//   rope/rotate_by    x [B, n, h, d], theta [r], position [B, n] real -> y, 2r <= d
//   rope/scores       q [B, n, h u, d], k [B, m, h, d], query_position [B, n], key_position [B, m] i64
//     -> s [B, h u, n, m] = scale logit_factor (R_i q_i) . (R_j k_j), with R of rope/rotate. scale is 1 / sqrt(d) or 1.
//     `logit_factor` is a factor of all logits in some models (mscale^2 of DeepSeek), whichever coordinates rotate. u =
//     `group`.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/algorithms/extended_frequencies.hpp"
#include "reference/kinds/rotation.hpp"

namespace assay::reference::encodings {

struct rope {
  static constexpr std::string_view name = "rope";
  static core::encoding_summary summary() {
    return {.what = "rotary encoding, with the scalings for longer contexts: YaRN, Llama 3, LongRoPE, NTK",
            .formula = "y = R(m) x, which turns pair t by m b^(-2t/d)",
            .sources = {{"Su et al. 2021", "https://arxiv.org/abs/2104.09864"}},
            .also = {{"YaRN, Llama 3, dynamic NTK", "`scaling` of rope/extended_frequencies"},
                     {"LongRoPE, Phi-3", "rope/switched_frequencies, rope/rotate_divided"},
                     {"a whole call of these, with its magnitude", "rope/rotate_extended"},
                     {"partial rotary of GPT-J, GPT-NeoX, Gemma 4", "`rotary` and `partial` of rope/rotate"},
                     {"HoPE, whose fastest pairs turn alone (Chen et al. 2024)", "`partial` of rope/rotate"}}};
  }

  using traced = formula::traced;
  /// The steps that variants replace.
  struct scheme : rotation_scheme, recorded_scheme<scheme> {
    /// base^(-t / divisor) for the first pairs, along an axis after the axes of base.
    std::function<traced(const traced& base, std::size_t pairs, std::size_t divisor)> frequencies =
        geometric_frequencies;
    /// The divisor in the exponent, from the number of features, of pairs with a frequency, and of pairs that rotate.
    std::function<std::size_t(std::size_t features, std::size_t pairs, std::size_t turning)> divisor =
        [](std::size_t, std::size_t pairs, std::size_t) { return pairs; };
    /// The factor by which "ntk" multiplies frequencies.
    std::function<traced(const traced& factor, std::size_t pairs)> stretch =
        [](const traced& factor, std::size_t pairs) { return geometric_frequencies(factor, pairs, pairs - 1); };
    std::function<std::optional<traced>(const extension& by, const traced& base)> ramp = ramp_of;
    std::function<traced(const extension& by, const traced& base, const traced& factor,
                         const std::optional<traced>& ramp, const traced& theta)>
        extend = [](const extension& by, const traced&, const traced& factor, const std::optional<traced>& share,
                    const traced& theta) { return extended_frequencies(by, factor, share, theta); };
    std::function<traced(const core::attributes& settings, const traced& factor)> magnitude = magnitude_of_extension;
  };
  static std::vector<recorded_formula<scheme>> formulas();

 private:
  static std::array<core::operation, 10> declarations();
  /// theta [k, r] for bases [k].
  static traced frequencies_of(const scheme& steps, const recorded_call& in, std::size_t divisor);
  static formula::program frequencies(const scheme& steps, const formula::program_sizes& call);
  static formula::program extended(const scheme& steps, const formula::program_sizes& call);
  static formula::program divided(const scheme& steps, const formula::program_sizes& call);
  static formula::program switched(const scheme& steps, const formula::program_sizes& call);
  static formula::program magnitudes(const scheme& steps, const formula::program_sizes& call);
  /// Whether the magnitude is a ratio of equal numbers, which is 1.
  static bool is_ratio_of_equal(const core::attributes& settings);
  /// The factor of the coordinates that rotate, from a rule or given; no value where settings make it exactly 1.
  static std::optional<traced> magnitude_of(const scheme& steps, const recorded_call& in);
  /// The frequencies of a base, extended for longer contexts where the operation has a setting `scaling`.
  static traced frequencies_in_layout(const scheme& steps, const recorded_call& in, const rotary_layout& layout);
  /// Queries or keys, rotated at the positions of this input.
  static traced turned_by_base(const scheme& steps, const recorded_call& in, const traced& x, const char* position);
  static formula::program rotate(const scheme& steps, const formula::program_sizes& call);
  static formula::program rotate_by(const scheme& steps, const formula::program_sizes& call);
  static formula::program scores(const scheme& steps, const formula::program_sizes& call);
};

inline rope::traced rope::frequencies_of(const scheme& steps, const recorded_call& in, std::size_t divisor) {
  return steps.frequencies(in["base"], in.size("r"), divisor);
}

/// Frequencies, stretched as the settings say.
inline formula::program rope::frequencies(const scheme& steps, const formula::program_sizes& call) {
  enum class scaling { none, ntk, interpolation };
  recorded_call in(call);
  const auto by = core::chosen<scaling>(
      call.settings, "scaling",
      {{"none", scaling::none}, {"ntk", scaling::ntk}, {"interpolation", scaling::interpolation}});
  const std::size_t pairs = in.size("r");
  const traced theta = frequencies_of(steps, in, steps.divisor(2 * pairs, pairs, pairs)), factor = in.number("factor");
  if (by == scaling::ntk && pairs > 1) return in.finish(theta * steps.stretch(factor, pairs));
  return in.finish(by == scaling::interpolation ? theta / factor : theta);
}

/// Frequencies for longer contexts (algorithms/extended_frequencies.hpp).
inline formula::program rope::extended(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const extension by(call.settings);
  const traced base = reshaped(in["base"], {in.size("k"), 1}), theta = frequencies_of(steps, in, by.pairs);
  return in.finish(steps.extend(by, base, in.number("factor"), steps.ramp(by, base), theta));
}
inline formula::program rope::divided(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  return in.finish(frequencies_of(steps, in, in.size("r")) / in["factors"]);
}
inline formula::program rope::switched(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const auto length = in.setting<std::int64_t>("length"), trained = in.setting<std::int64_t>("trained_length");
  const bool includes_trained = core::chosen<bool>(call.settings, "switch", {{"above", false}, {"at_or_above", true}});
  const traced by_short = in["short_factor"], by_long = in["long_factor"];
  const bool is_long = includes_trained ? length >= trained : length > trained;
  return in.finish(frequencies_of(steps, in, in.size("r")) / (is_long ? by_long : by_short));
}
inline bool rope::is_ratio_of_equal(const core::attributes& settings) {
  return core::setting<std::string>(settings, "rule") == "ratio" &&
         core::setting<double>(settings, "mscale") == core::setting<double>(settings, "mscale_all_dim");
}
/// The ratio of equal numbers is 1, which no interval proves: programs for proofs have the 1. Other programs divide,
/// and the terms of the derivative cancel except for their roundings.
inline formula::program rope::magnitudes(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced factor = in["factor"];
  if (is_ratio_of_equal(call.settings) && in.is_truth()) return in.finish(traced(1.0) + traced(0.0) * factor);
  return in.finish(steps.magnitude(call.settings, factor));
}

inline std::optional<rope::traced> rope::magnitude_of(const scheme& steps, const recorded_call& in) {
  if (!in.settings().contains("rule") || in.setting<std::string>("rule") == "given") {
    if (in.setting<double>("magnitude") == 1.0) return std::nullopt;
    return in.number("magnitude");
  }
  if (in.setting<double>("factor") <= 1.0 || is_ratio_of_equal(in.settings())) return std::nullopt;
  return steps.magnitude(in.settings(), in.number("factor"));
}
inline rope::traced rope::frequencies_in_layout(const scheme& steps, const recorded_call& in,
                                                const rotary_layout& layout) {
  const std::size_t divisor = steps.divisor(in.size("d"), layout.all_pairs(), layout.pairs);
  const traced base = in.number("base"),
               theta = or_products_of_factors(steps.frequencies(base, layout.pairs, divisor), base, divisor);
  if (in.has("factors")) return theta / in["factors"];
  if (!in.settings().contains("scaling") || layout.pairs == 0) return theta;
  core::attributes settings = in.settings();
  settings["pairs"] = static_cast<std::int64_t>(layout.pairs);
  const extension by(settings);
  return steps.extend(by, base, in.number("factor"), steps.ramp(by, base), theta);
}
inline rope::traced rope::turned_by_base(const scheme& steps, const recorded_call& in, const traced& x,
                                         const char* position) {
  const std::size_t d = in.size("d");
  const rotary_layout layout(in.settings(), d, in.has("factors") ? in.size("r") : turning_pairs(d, in.settings()));
  const bool backwards =
      core::chosen<bool>(in.settings(), "direction", {{"counterclockwise", false}, {"clockwise", true}});
  const auto [theta, m] = in_stage<traced>(rotary_stage::angle, [&] {
    const traced position_of_token = position_of(in, position), found = frequencies_in_layout(steps, in, layout);
    const bool scaled = in.settings().contains("position_scale") && in.setting<double>("position_scale") != 1.0;
    return std::pair(backwards ? -found : found,
                     scaled ? position_of_token / in.number("position_scale") : position_of_token);
  });
  traced_rotation by = steps.rotation_at(m, theta);
  if (const auto factor = in_stage<traced>(rotary_stage::angle, [&] { return magnitude_of(steps, in); }))
    by = scaled_rotation(by, *factor);
  return turned_vectors_of(steps, x, layout, by);
}
inline formula::program rope::rotate(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  return in.finish(turned_by_base(steps, in, in["x"], "position"));
}
inline formula::program rope::rotate_by(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced x = in["x"], theta = in["theta"],
               position = reshaped(in["position"], {in.size("B"), in.size("n"), 1, 1});
  return in.finish(
      turned_vectors_of(steps, x, {call.settings, in.size("d"), in.size("r")}, steps.rotation_at(position, theta)));
}
inline formula::program rope::scores(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  return in.finish(scores_of_turned(in, turned_by_base(steps, in, in["q"], "query_position"),
                                    turned_by_base(steps, in, in["k"], "key_position")));
}

inline std::array<core::operation, 10> rope::declarations() {
  using settings_list = std::vector<core::attribute_declaration>;
  const auto joined_settings = [](settings_list all, const settings_list& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };

  constexpr const char* source = "Su et al. 2021, arXiv 2104.09864, eqs. (15) and (34)";
  constexpr double largest = std::numeric_limits<double>::max();
  const auto factor = [](double low) {
    return real("factor", {low, 2.0, 4.0, 3.5}, {low, 0x1p31},
                "s: how many times as long as the trained context this one is");
  };
  // A frequency is a power: it has the relative accuracy of its logarithm, and angles m theta need all of it.
  const core::tensor_declaration frequencies{
      .name = "theta", .axes = {"k", "r"}, .meaning = "frequencies", .scale = core::error_scale::relative};
  const auto pairs = [](const std::vector<std::int64_t>& values) {
    return integer("pairs", values, {1.0, 0x1p20}, "how many pairs of coordinates a head has", "r");
  };
  const auto positions = [](const char* called, const char* tokens) {
    return core::integers(called, {"B", tokens}, "positions", {0.0, 2147483648.0}, core::input_role::position);
  };
  const auto base_setting = [](double low) {
    return real("base", {10000.0, 100.0, 500000.0}, {low, largest}, "b of the frequencies b^(-t/r)");
  };
  const core::attribute_declaration direction = choice(
                                        "direction", {"counterclockwise", "clockwise"},
                                        "which way position m turns a pair: by the angle m theta, or by -m theta"),
                                    anchor = choice("at", {"start", "end"},
                                                    "where the coordinates that turn lie in a head, if not all do"),
                                    magnitude = real("magnitude", {1.0, 1.3465735902799727}, {0x1p-20, 0x1p20},
                                                     "what the coordinates that turn are multiplied by");
  const settings_list rotation_settings{
      rotary_layout::declared(),
      rotary_setting(),
      base_setting(1.0),
      real("position_scale", {1.0, 4.0}, {1.0, largest}, "what positions are divided by"),
      direction,
      choice("partial", {"block", "proportional"},
             "which frequencies rotary pairs have: those of a head of that many pairs, or the first ones of the whole "
             "head"),
      anchor,
      magnitude};
  const auto length = [](const std::vector<std::int64_t>& values) {
    return integer("length", values, {1.0, 0x1p31}, "L: length of this sequence, in tokens");
  };
  const auto trained_length = [](const std::vector<std::int64_t>& values, double low, const char* meaning) {
    return integer("trained_length", values, {low, 0x1p31}, meaning);
  };
  const auto crossed = choice("crossed", {"reversed", "step", "turns"}, "yarn: what the ramp is where hi < lo");
  // Joins the settings that stretch frequencies to other settings, after them.
  const auto extension_settings = [&](const core::attribute_declaration& crossed_setting, settings_list all) {
    return joined_settings(
        std::move(all),
        {choice("scaling", {"yarn", "llama3", "dynamic", "dynamic_steps", "ntk_fixed", "ntk_mixed"},
                "by which method frequencies are made for longer contexts"),
         real("factor", {4.0, 8.0, 40.0, 1.0, 3.5, 1.001}, {1.0, 0x1p31},
              "s: how many times as long as the trained context this one is"),
         trained_length({8192, 4096, 32768, 2048, 131072, 16}, 1.0, "L0: length of the trained context, in tokens"),
         length({8192, 4096, 4097, 8191, 131072, 131073, 100000, 1}),
         real("beta_fast", {32.0, 4.0}, {0x1p-10, 0x1p20},
              "yarn: pairs that turn this often in the trained context, or more often, stay"),
         real("beta_slow", {1.0, 2.0}, {0x1p-10, 0x1p20},
              "yarn: pairs that turn this often, or less often, are divided by s"),
         flag("truncate", true, "yarn: whether the ends lo and hi of the ramp are rounded to integers"),
         choice("ramp", {"index", "turns"}, "yarn: what the ramp is linear in, the number of the pair or its turns"),
         choice("last", {"width", "pairs"}, "yarn: what the end hi of the ramp is cut at, d - 1 or r - 1"),
         choice("blend", {"frequencies", "wavelengths"}, "yarn: what the ramp weighs, frequencies or wavelengths"),
         real("low", {1.0, 0.5}, {0x1p-10, 0x1p20},
              "llama3: pairs that turn this often in the trained context, or less often, are divided by s"),
         real("high", {4.0, 32.0, 1.0}, {0x1p-10, 0x1p20}, "llama3: pairs that turn this often, or more often, stay"),
         real("mixed", {0.625, 1.0}, {0x1p-10, 4.0}, "ntk_mixed: its exponent beta"), crossed_setting});
  };
  const auto magnitude_settings = [](const std::vector<std::string>& rules) {
    return settings_list{
        choice("rule", rules,
               "what the magnitude is: 0.1 mscale log s + 1 (yarn), that over the same of mscale_all_dim (ratio), "
               "or sqrt(1 + log s / log L0) (su)" +
                   std::string(rules.front() == "given" ? "; or `magnitude`" : "")),
        real("mscale", {1.0, 0.707}, {0.0, 0x1p20}, "factor of 0.1 log s in the rules yarn and ratio"),
        real("mscale_all_dim", {1.0, 0.707, 0.0}, {0.0, 0x1p20},
             "the same factor of the divisor in the rule ratio; 0: the divisor is 1")};
  };
  const auto divisors = [](const char* name, const char* meaning) {
    return core::parameter(name, {"r"}, meaning, {0x1p-20, largest});
  };
  const auto base = [](double low) { return core::parameter("base", {"k"}, "base of the frequencies", {.low = low}); };
  // These are numbers in a configuration: their floors and ramps are no functions to train.
  core::tensor_declaration fixed_base = base(2.0), fixed_divisors = divisors("factors", "what divides each frequency");
  fixed_base.differentiable = fixed_divisors.differentiable = false;
  const std::vector<std::string> rules{"given", "yarn", "ratio", "su"};
  const auto conflict_of_whole = [](const core::attributes& settings, const core::axis_sizes& sizes) -> std::string {
    if (core::setting<std::string>(settings, "rule") == "su" &&
        core::setting<std::int64_t>(settings, "trained_length") < 2)
      return "rule = \"su\" divides by the logarithm of 'trained_length', which must be 2 or more";
    const std::string conflict = conflict_of_extension(settings);
    return conflict.empty() ? conflict_of_rotation(settings, sizes) : conflict;
  };
  return {
      {{.name = "rope/frequencies",
        .source = source,
        .inputs = {base(1.0)},
        .outputs = {frequencies},
        .attributes = {pairs({1, 2, 3, 4, 8}),
                       choice("scaling", {"none", "ntk", "interpolation"},
                              "what longer contexts change: nothing, the base, or all frequencies alike"),
                       factor(1.0)},
        .independent = {"k"}},
       {.name = "rope/extended_frequencies",
        .source = "Peng et al. 2023, arXiv 2309.00071; Grattafiori et al. 2024, arXiv 2407.21783",
        .inputs = {fixed_base},
        .outputs = {frequencies},
        .attributes = extension_settings(since({0, 2}, crossed), {pairs({8, 64, 32, 48, 1, 2})}),
        .independent = {"k"},
        .conflict = [](const core::attributes& settings,
                       const core::axis_sizes&) { return conflict_of_extension(settings); }},
       {.name = "rope/divided_frequencies",
        .source = "Ding et al. 2024, arXiv 2402.13753",
        .inputs = {base(1.0), divisors("factors", "what divides each frequency")},
        .outputs = {frequencies},
        .independent = {"k"}},
       {.name = "rope/switched_frequencies",
        .source = "Ding et al. 2024, arXiv 2402.13753; huggingface/transformers, \"longrope\"",
        .inputs = {base(1.0), divisors("short_factor", "what divides each frequency of short sequences"),
                   divisors("long_factor", "what divides each frequency of long ones")},
        .outputs = {frequencies},
        .attributes = {trained_length({4096, 8192}, 1.0, "L0: length of the trained context, in tokens"),
                       length({4096, 4097, 4095, 8192, 131072}),
                       choice("switch", {"above", "at_or_above"},
                              "which lengths L take long_factor: those above L0, or L0, too")},
        .independent = {"k"}},
       {.name = "rope/magnitude",
        .source = "Peng et al. 2023, arXiv 2309.00071, eq. (22); Ding et al. 2024, arXiv 2402.13753",
        .inputs = {core::parameter("factor", {"k"}, "how much longer", {.low = 0x1p-20})},
        .outputs = {{.name = "magnitude",
                     .axes = {"k"},
                     .meaning = "what multiplies queries and keys",
                     .scale = core::error_scale::relative}},
        .attributes = joined_settings(
            magnitude_settings({"yarn", "ratio", "su"}),
            {trained_length({4096, 8192, 3}, 2.0, "L0 of the rule su: length of the trained context, in tokens")}),
        .independent = {"k"}},
       rotation_declaration({.name = "rope/rotate",
                             .source = source,
                             .inputs = {positions("position", "n")},
                             .attributes = rotation_settings,
                             .conflict = conflict_of_rotation}),
       rotation_declaration(
           {.name = "rope/rotate_extended",
            .source = "Peng et al. 2023, arXiv 2309.00071; Grattafiori et al. 2024, arXiv 2407.21783",
            .inputs = {positions("position", "n")},
            .attributes = joined_settings(extension_settings(crossed, {rotary_layout::declared(), rotary_setting(),
                                                                       base_setting(2.0), direction, anchor}),
                                          joined_settings(magnitude_settings(rules), {magnitude})),
            .conflict = conflict_of_whole,
            .named_only = true}),
       rotation_declaration(
           {.name = "rope/rotate_divided",
            .source = "Ding et al. 2024, arXiv 2402.13753; huggingface/transformers, \"longrope\"",
            .inputs = {fixed_divisors, positions("position", "n")},
            .attributes = joined_settings(
                {rotary_layout::declared(), base_setting(1.0), direction, anchor, factor(1.0),
                 trained_length({4096, 8192, 3}, 2.0, "L0 of the rule su: length of the trained context, in tokens")},
                joined_settings(magnitude_settings(rules), {magnitude})),
            .conflict = [](const core::attributes&,
                           const core::axis_sizes& sizes) { return conflict_of_pairs(sizes.at("r"), "", sizes); },
            .named_only = true}),
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
                           .attributes = rotation_settings,
                           .conflict = conflict_of_rotation})}};
}

inline std::vector<recorded_formula<rope::scheme>> rope::formulas() {
  const auto [plain_frequencies, longer_frequencies, divided_frequencies, switched_frequencies, magnitude, rotation,
              extended_rotation, divided_rotation, rotation_by_theta, rotated_scores] = declarations();
  return {{plain_frequencies, frequencies}, {longer_frequencies, extended}, {divided_frequencies, divided},
          {switched_frequencies, switched}, {magnitude, magnitudes},        {rotation, rotate},
          {extended_rotation, rotate},      {divided_rotation, rotate},     {rotation_by_theta, rotate_by},
          {rotated_scores, scores}};
}

}  // namespace assay::reference::encodings
