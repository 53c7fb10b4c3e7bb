// FoPE (Hua et al., "Fourier Position Embedding: Enhancing Attention's Periodic Extension for Length Generalization",
// 2024, arXiv 2412.17739): a pair of coordinates carries a Fourier series of the position in place of one frequency,
//
//   y = (x_first + i x_second) (c + i s)
//   c = sum_k cos(m omega_k) C_cos[k, o],   s = sum_k sin(m omega_k) C_sin[k, o]
//
// for pair o of the first O of d/2; coordinates are paired by halves. Frequencies that make no full turn within the
// trained length are dropped, and the other pairs are padded.
//
//   fope/kept    length [n] i64                             -> kept [n] i64, of `pairs` frequencies base^(-t/pairs)
//     rule "at_least": those >= 2 pi / length (TsinghuaC3I/Fourier-Position-Embedding, olmo/model.py, which drops
//     lower ones); "above": those > 2 pi / length (vllm-project/vllm, rotary_embedding/fope.py). The two are one
//     function: powers of a rational base are algebraic, and pi is not. "count": `count` of them, or all, at any length
//     (vLLM, num_inv_freq). Exact: decided by intervals.
//   fope/rotate  x [B, n, h, d], omega [D], c_cos, c_sin [g, D, O], position [B, n] i64 -> y [B, n, h, d]
//     h / g heads that follow one another share coefficients: g = h in the authors' code, that of key-value heads in
//     vLLM, 1 where all heads share them. `padding` "ones": c = s = 1, frequency 0 and another phase (the authors);
//     "identity": c = 1, s = 0 (vLLM since pull request 55243). `normalized`: coefficients are divided by the sum of
//     their column, signs and all (the authors' fourier_norm).
//
// This is a complex scaling and no rotation: it does not keep lengths, and scores depend on both positions. Position 0
// has s = 0, and its c are the sums of columns. Without frequencies c = s = 0.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/algorithms/extended_frequencies.hpp"
#include "reference/kinds/rotation.hpp"

namespace assay::reference::encodings {

/// The rule that says how many frequencies are kept, the fastest ones first.
struct kept_rule {
  using index = formula::traced_integer;
  std::size_t pairs;
  double base;
  std::int64_t count;
  bool counts;

  explicit kept_rule(const core::attributes& settings)
      : pairs(static_cast<std::size_t>(core::setting<std::int64_t>(settings, "pairs"))),
        base(core::setting<double>(settings, "base")),
        count(core::setting<std::int64_t>(settings, "count")),
        counts(core::chosen<bool>(settings, "rule", {{"at_least", false}, {"above", false}, {"count", true}})) {}
  [[nodiscard]] std::int64_t all() const { return static_cast<std::int64_t>(pairs); }
  /// The number of kept frequencies at these lengths [n].
  [[nodiscard]] index number_of_kept(const index& lengths) const {
    if (counts) return index::constant(std::min(count, all()));
    std::vector<std::int64_t> first{0};  // element c: the least length at which c are kept
    for (std::size_t t = 0; t < pairs; ++t) first.push_back(length_of_turn(base, t, pairs));
    return last_reached(lengths, std::move(first), no_turn);
  }
};

struct fope {
  static constexpr std::string_view name = "fope";
  static core::encoding_summary summary() {
    return {.what = "rotary encoding whose pairs carry a Fourier series each",
            .formula = "y = (x_1 + i x_2) sum_k (C_cos,k cos(m omega_k) + i C_sin,k sin(m omega_k))",
            .sources = {{"Hua et al. 2024", "https://arxiv.org/abs/2412.17739"}},
            .also = {{"the positions of Intern-S1-Pro in vLLM", "`padding` of fope/rotate, and `rule` of fope/kept"}}};
  }

  /// The parts that have a format of their own, in the order of the stages: those of a rotation, then the series.
  enum class stage { angle, table, product, series };

  using traced = formula::traced;
  using index = formula::traced_integer;
  /// The steps that variants replace.
  struct scheme : rotation_scheme, recorded_scheme<scheme> {
    scheme() { rotation_at = wave_at; }
    std::function<index(const kept_rule& rule, const index& lengths)> kept =
        [](const kept_rule& rule, const index& lengths) { return rule.number_of_kept(lengths); };
    /// The coefficients [g, D, O], divided by the sums of their columns.
    std::function<traced(const traced& coefficients)> normalize = [](const traced& c) {
      const core::shape s = shape_of(c);
      return c / reshaped(summed(c, {1}), {s[0], 1, s[2]});
    };
    /// The group whose coefficients a head uses.
    std::size_t (*group)(std::size_t head, std::size_t heads, std::size_t groups) =
        [](std::size_t head, std::size_t heads, std::size_t groups) { return head * groups / heads; };
  };
  static std::vector<recorded_formula<scheme>> formulas() {
    const auto [kept_declaration, rotate_declaration] = declarations();
    return {{kept_declaration, kept}, {rotate_declaration, rotate}};
  }

 private:
  static std::array<core::operation, 2> declarations();
  static std::string conflict(const core::attributes& settings, const core::axis_sizes& sizes);
  /// exp(i m omega).
  static traced_rotation wave_at(const traced& position, const traced& omega) {
    const traced angle = in_stage<traced>(stage::angle, [&] { return position * omega; });
    return in_stage<traced>(stage::series, [&] { return traced_rotation(angle); });
  }
  static formula::program kept(const scheme& steps, const formula::program_sizes& call) {
    recorded_call in(call);
    return in.finish(steps.kept(kept_rule(call.settings), in.integers("length")));
  }
  static formula::program rotate(const scheme& steps, const formula::program_sizes& call);
};

inline formula::program fope::rotate(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const std::size_t rows = in.size("B"), n = in.size("n"), h = in.size("h"), frequencies = in.size("D");
  // A request with more columns than pairs is refused; a call that a diagnosis makes from one stays inside the head.
  const std::size_t all = in.size("d") / 2, columns = std::min(in.size("O"), all);
  const traced x = in["x"];
  std::vector<std::int64_t> groups;
  for (std::size_t head = 0; head < h; ++head)
    groups.push_back(static_cast<std::int64_t>(steps.group(head, h, in.size("g"))));
  traced_rotation by = steps.rotation_at(position_of(in, "position"), in["omega"]);
  for (const auto& [wave, called] : {std::pair(&by.cosine, "c_cos"), {&by.sine, "c_sin"}}) {
    const traced series = in_stage<traced>(stage::series, [&, wave_of_input = *wave, name = called] {
      const traced given = in[name], c = in.setting<bool>("normalized") ? steps.normalize(given) : given;
      const traced sums =
          contracted(reshaped(wave_of_input, {rows, n, frequencies}), between(c, 2, 0, columns), "bnk,gko->bngo");
      return gathered(sums, formula::known_integers({h}, groups), 2);
    });
    *wave = in_stage<traced>(stage::table, [&] { return taken_from(static_cast<std::size_t>(stage::series), series); });
    if (in.setting<std::string>("padding") == "ones")
      *wave = formula::joined({*wave, broadcast(traced(1.0), {rows, n, h, all - columns})}, 3);
  }
  const rotary_layout layout({{"layout", std::string("half_split")}, {"partial", std::string("proportional")}},
                             in.size("d"), shape_of(by.sine)[3]);
  return in.finish(turned_vectors_of(steps, x, layout, by));
}

inline std::string fope::conflict(const core::attributes&, const core::axis_sizes& sizes) {
  const auto size_of = [&](const char* axis) { return std::string(axis) + " = " + std::to_string(sizes.at(axis)); };
  if (sizes.at("d") % 2 != 0) return size_of("d") + " is odd, and its halves are paired";
  if (sizes.at("O") > sizes.at("d") / 2)
    return size_of("O") + " columns of coefficients are more than the pairs of " + size_of("d");
  if (sizes.at("g") == 0 ? sizes.at("h") > 0 : sizes.at("h") % sizes.at("g") != 0)
    return size_of("g") + " heads of coefficients do not divide " + size_of("h") + " heads";
  return {};
}

inline std::array<core::operation, 2> fope::declarations() {
  constexpr const char* source = "Hua et al. 2024, arXiv 2412.17739, section 4, and its released code";
  constexpr double furthest = 2147483648.0;
  const auto coefficients = [](const char* called, const char* wave_name) {
    return core::parameter(called, {"g", "D", "O"}, std::string("coefficients of the ") + wave_name);
  };
  core::operation rotate = rotation_declaration(
      {.name = "fope/rotate",
       .source = source,
       .inputs = {core::parameter("omega", {"D"}, "frequencies that are kept"), coefficients("c_cos", "cosines"),
                  coefficients("c_sin", "sines"),
                  core::integers("position", {"B", "n"}, "positions", {0.0, furthest}, core::input_role::position)},
       .attributes = {choice(
                          "padding", {"ones", "identity"},
                          "what becomes of pairs without a series: they are multiplied by 1 + i, or stay as they are"),
                      flag("normalized", false, "whether coefficients are divided by the sums of their columns")},
       .stages = {{.name = "series", .meaning = "cosines and sines of the angles, coefficients, and the series"},
                  {.name = std::string(core::accumulation), .meaning = "sums of products, in gradients too"}},
       .axis_roles = {{"g", core::axis_role::parameter},
                      {"D", core::axis_role::parameter},
                      {"O", core::axis_role::parameter}},
       .conflict = conflict});
  rotate.independent = {"B", "n"};  // heads share coefficients
  rotate.outputs.front().meaning = "the same, scaled by the series";
  rotate.stages[static_cast<std::size_t>(stage::angle)].meaning = "positions times frequencies";
  rotate.stages[static_cast<std::size_t>(stage::table)].meaning = "the series, as coordinates are multiplied by them";
  return {
      {{.name = "fope/kept",
        .source = source,
        .inputs = {core::integers("length", {"n"}, "tokens of a sequence in training", {1.0, furthest},
                                  core::input_role::value)},
        .outputs = {core::integers("kept", {"n"}, "frequencies that are kept", {0.0, 0x1p20}, core::input_role::value)},
        .attributes = {integer("pairs", {64, 32, 48, 1, 2}, {1.0, 0x1p20}, "how many pairs of coordinates a head has"),
                       real("base", {10000.0, 500000.0, 5000000.0, 100.0}, {2.0, std::numeric_limits<double>::max()},
                            "base of the frequencies"),
                       choice("rule", {"at_least", "above", "count"},
                              "which frequencies are kept: those of 2 pi / length or more, those above that (the same "
                              "ones), or the first ones by "
                              "the setting count"),
                       integer("count", {40, 0, 1, 64, 16}, {0.0, 0x1p20},
                               "how many frequencies the rule count keeps")},
        .independent = {"n"}},
       std::move(rotate)}};
}

}  // namespace assay::reference::encodings
