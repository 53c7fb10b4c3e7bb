// FoPE (Hua et al., "Fourier Position Embedding: Enhancing Attention's Periodic Extension for Length Generalization",
// 2024, arXiv 2412.17739): a pair of coordinates carries a Fourier series of the position in place of one frequency,
//
//   y = (x_first + i x_second) (c + i s)
//   c = sum_k cos(m omega_k) C_cos[k, o],   s = sum_k sin(m omega_k) C_sin[k, o]
//
// for pair o of the first O of d/2; halves are paired. Frequencies that make no turn within the trained length are
// dropped, and the other pairs are padded.
//
//   fope/kept    length [n] i64                             -> kept [n] i64, of `pairs` frequencies base^(-t/pairs)
//     rule "at_least": those >= 2 pi / length (TsinghuaC3I/Fourier-Position-Embedding, olmo/model.py, which drops those
//     below); "above": > 2 pi / length (vllm-project/vllm, rotary_embedding/fope.py). The two are one function: powers
//     of a rational base are algebraic, and pi is not. "count": `count` of them, or all, at any length (vLLM,
//     num_inv_freq). Exact: decided by intervals.
//   fope/rotate  x [B, n, h, d], omega [D], c_cos, c_sin [g, D, O], position [B, n] i64 -> y [B, n, h, d]
//     h / g heads that follow one another share coefficients: g = h in the authors' code, that of key-value heads in
//     vLLM, 1 where all heads share them. `padding` "ones": c = s = 1, frequency 0 and another phase (the authors);
//     "identity": c = 1, s = 0 (vLLM since pull request 55243). `normalized`: coefficients are divided by the sum of
//     their column, signs and all (the authors' fourier_norm).
//
// This is a complex scaling and no rotation: it keeps no lengths, scores depend on both positions, position 0 has s = 0
// and for c the sums of columns. Without frequencies c = s = 0.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/algorithms/extended_frequencies.hpp"
#include "reference/kinds/rotation.hpp"
#include "reference/kinds/table.hpp"

namespace assay::reference::encodings {

/// Which frequencies are kept.
struct kept_rule {
  std::size_t pairs;
  double base, count;
  bool counts;

  explicit kept_rule(const core::attributes& settings)
      : pairs(static_cast<std::size_t>(core::setting<std::int64_t>(settings, "pairs"))),
        base(core::setting<double>(settings, "base")),
        count(static_cast<double>(core::setting<std::int64_t>(settings, "count"))),
        counts(core::chosen<bool>(settings, "rule", {{"at_least", false}, {"above", false}, {"count", true}})) {}
  /// How many at this length: as base^(-t/pairs) falls with t, the last one kept has the index of one turn or is the
  /// one before. At 6 tokens and fewer none makes a turn; 0 tokens have no such index.
  [[nodiscard]] double at(double length) const {
    const auto all = static_cast<double>(pairs);
    if (counts) return std::min(count, all);
    return length <= 6.0 ? 0.0 : std::clamp(index_below({pairs, length}, base, 1.0) + 1.0, 0.0, all);
  }
};

/// The coefficients [g, D, O] over the sums of their columns.
template <class R>
field<R> over_column_sums(const field<R>& all) {
  field<R> quotients = all;
  const std::size_t frequencies = all.shape(1), columns = all.shape(2);
  for (std::size_t column = 0; column < all.shape(0) * columns; ++column) {
    const std::size_t first = column / columns * frequencies * columns + column % columns;
    accumulator<R> sum;
    for (std::size_t k = 0; k < frequencies; ++k) sum.add(all.data()[first + k * columns]);
    const R total = sum.total();
    for (std::size_t k = 0; k < frequencies; ++k) {
      R& c = quotients.data()[first + k * columns];
      c = c / total;
    }
  }
  return quotients;
}

struct fope {
  static constexpr std::string_view name = "fope";
  static core::encoding_summary summary() {
    return {.what = "rotary encoding whose pairs carry a Fourier series each",
            .formula = "y = (x_1 + i x_2) sum_k (C_cos,k cos(m omega_k) + i C_sin,k sin(m omega_k))",
            .sources = {{"Hua et al. 2024", "https://arxiv.org/abs/2412.17739"}},
            .also = {{"the positions of Intern-S1-Pro in vLLM", "`padding` of fope/rotate, and `rule` of fope/kept"}}};
  }

  /// What has a format of its own, in the order of the stages: those of a rotation, then the series.
  enum class stage { angle, table, product, series };

  /// The steps that variants replace.
  template <class R>
  struct recipe : rotary_recipe<recipe, R> {
    recipe() { this->rotation_at = wave_at<R>; }
    recipe_step<R, double(const kept_rule& rule, double length)> kept = [](const kept_rule& rule, double length) {
      return rule.at(length);
    };
    recipe_step<R, field<R>(const field<R>& coefficients)> normalize = over_column_sums<R>;
    /// Whose coefficients a head has.
    std::size_t (*group)(std::size_t head, std::size_t heads, std::size_t groups) =
        [](std::size_t head, std::size_t heads, std::size_t groups) { return head * groups / heads; };
  };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    const auto [of_lengths, of_vectors] = declarations();
    return {table_record<fope, R, fope::kept<R>>(of_lengths), rotation_record<turns, R>(of_vectors)};
  }

 private:
  static std::array<core::operation, 2> declarations();
  static std::string conflict(const core::attributes& settings, const core::axis_sizes& sizes);
  /// exp(i m omega).
  template <class R>
  static rotation<R> wave_at(const R& position, const R& omega) {
    const R angle = in_stage<R>(
        stage::angle, [](const R& m, const R& w) { return m * w; }, position, omega);
    return in_stage<R>(
        stage::series, [](const R& a) { return rotation<R>(a); }, angle);
  }
  template <class R>
  static rows<R> kept(const arguments<R>& call, const recipe<R>& how) {
    return {1, [&how, &lengths = call.integers.at("length").values.storage(), by = kept_rule(call.settings)](
                   std::size_t i, R* row) { *row = index_number<R>(how.kept(by, lengths[i])); }};
  }
  template <class R>
  struct turns;
};

template <class R>
struct fope::turns {
  using recipe = fope::recipe<R>;
  const recipe& how;
  rotary_layout layout;
  const field<R>& omega;
  field<R> c_cos, c_sin;  ///< as cosines and sines are multiplied by them
  std::vector<R> position{};
  std::size_t heads;
  rotation<R> padding{R(0.0)};

  turns(const arguments<R>& call, const recipe& with, const turned_vectors&)
      : how(with),
        layout({{"layout", std::string("half_split")}, {"partial", std::string("proportional")}}, call["x"].shape(3),
               std::min(call["c_cos"].shape(2), call["x"].shape(3) / 2)),
        omega(call["omega"]),
        c_cos(call["c_cos"]),
        c_sin(call["c_sin"]),
        heads(call["x"].shape(2)) {
    for (const double m : call.integers.at("position").values.storage())
      position.push_back(in_stage<R>(stage::angle, [&] { return from_integer<R>(m); }));
    if (call.template setting<bool>("normalized"))
      for (field<R>* c : {&c_cos, &c_sin})
        *c = in_stage<R>(
            stage::series, [&](const field<R>& all) { return how.normalize(all); }, *c);
    padding.cosine = padding.sine = R(1.0);
    if (core::chosen<bool>(call.settings, "padding", {{"ones", true}, {"identity", false}}))
      layout.pairs = layout.features / 2;
  }
  [[nodiscard]] std::vector<rotation<R>> rotations(std::size_t token, std::size_t head) const {
    const std::size_t frequencies = omega.size(), columns = c_cos.shape(2);
    // A request with more columns is refused; what a diagnosis makes of one stays inside the head.
    const std::size_t series = std::min(columns, layout.features / 2);
    const std::size_t first = how.group(head, heads, c_cos.shape(0)) * frequencies * columns;
    std::vector<rotation<R>> waves, all(layout.pairs, padding);
    for (std::size_t k = 0; k < frequencies; ++k) waves.push_back(how.rotation_at(position[token], omega.data()[k]));
    const auto as_multiplied = [](const accumulator<R>& sum) {
      return taken_by(stage::table, stage::series, total_in(stage::series, sum));
    };
    for (std::size_t o = 0; o < series; ++o) {
      accumulator<R> cosine, sine;
      for (std::size_t k = 0; k < frequencies; ++k) {
        const std::size_t at = first + k * columns + o;
        cosine.add_product(waves[k].cosine, c_cos.data()[at]);
        sine.add_product(waves[k].sine, c_sin.data()[at]);
      }
      all[o].cosine = as_multiplied(cosine);
      all[o].sine = as_multiplied(sine);
    }
    return all;
  }
};

inline std::string fope::conflict(const core::attributes&, const core::axis_sizes& sizes) {
  const auto said = [&](const char* axis) { return std::string(axis) + " = " + std::to_string(sizes.at(axis)); };
  if (sizes.at("d") % 2 != 0) return said("d") + " is odd, and its halves are paired";
  if (sizes.at("O") > sizes.at("d") / 2)
    return said("O") + " columns of coefficients are more than the pairs of " + said("d");
  if (sizes.at("g") == 0 ? sizes.at("h") > 0 : sizes.at("h") % sizes.at("g") != 0)
    return said("g") + " heads of coefficients do not divide " + said("h") + " heads";
  return {};
}

inline std::array<core::operation, 2> fope::declarations() {
  constexpr const char* source = "Hua et al. 2024, arXiv 2412.17739, section 4, and its released code";
  constexpr double furthest = 2147483648.0;
  const auto coefficients = [](const char* called, const char* of) {
    return core::parameter(called, {"g", "D", "O"}, std::string("coefficients of the ") + of);
  };
  core::operation rotate = rotation_declaration(
      {.name = "fope/rotate",
       .source = source,
       .inputs = {core::parameter("omega", {"D"}, "frequencies that are kept"), coefficients("c_cos", "cosines"),
                  coefficients("c_sin", "sines"),
                  core::integers("position", {"B", "n"}, "positions", {0.0, furthest}, core::input_role::position)},
       .attributes = {choice("padding", {"ones", "identity"}, "pairs without a series: times 1 + i, or as they are"),
                      flag("normalized", false, "coefficients are divided by the sums of their columns")},
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
        .attributes = {integer("pairs", {64, 32, 48, 1, 2}, {1.0, 0x1p20}, "pairs of coordinates of a head"),
                       real("base", {10000.0, 500000.0, 5000000.0, 100.0}, {2.0, std::numeric_limits<double>::max()},
                            "base of the frequencies"),
                       choice("rule", {"at_least", "above", "count"},
                              "2 pi / length or more, more than that, which is the same, or `count`"),
                       integer("count", {40, 0, 1, 64, 16}, {0.0, 0x1p20}, "how many by the rule count")}},
       std::move(rotate)}};
}

}  // namespace assay::reference::encodings
