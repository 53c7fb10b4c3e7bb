// Sinusoidal position encodings (Vaswani et al., "Attention Is All You Need", 2017, arXiv 1706.03762, section 3.5) and
// the functions that Su derived from them ("Transformer Upgrade Road: 1", 2021, kexue.fm/archives/8231). With theta_i =
// b^(-2i/d),
//
//   p_{m,2i} = sin(m theta_i),  p_{m,2i+1} = cos(m theta_i),  i = 0 ... d/2 - 1
//
// and, as theta_t = b^-t, t in [0, 1], fills the frequencies, (2/d) <p_m, p_n> tends to Su's curve of decay
//
//   I_b(s) = integral of cos(s b^-t) dt = 1 - (Cin(s) - Cin(s/b)) / ln b,  s = m - n,  I_b(0) = 1
//
// which is [Ci(|s|) - Ci(|s|/b)] / ln b for s other than 0, where its derivative is (cos s - cos(s/b)) / (s ln b). His
// other family, theta_t = t^alpha at t = 2i/d, is the rule "power" of the table; its first pair is the constant 0, 1.
// This rule uses alpha; the other rules use the base.
//
// SHAPE (Kiyono et al., "SHAPE: Shifted Absolute Position Embedding for Transformers", 2021, arXiv 2109.05644) needs no
// operation of its own: it is this table with a random `offset` k, drawn once for each sequence in training. p_{m+k} is
// p_m rotated by the angles of k, so that inner products stay the same. butsugiri/shape draws k below K, and not up to
// K, and adds K outside training.
//
// Shapes: `sinusoidal/table` position [n] to p [n, d]; `sinusoidal/table_at` position [n], theta [r] to p [n, 2r];
// `sinusoidal/frequencies` base [k] to theta [k, r]; `sinusoidal/decay` s [n] to g [n]. Conventions on which
// implementations differ:
//
//   name        layout       first   rule           found in
//   SIN-PAPER   interleaved  sine    paper          the paper, OpenNMT-py
//   SIN-T2T     half_split   sine    tensor2tensor  tensorflow/tensor2tensor, fairseq, fastnlp/TENER (odd "zero")
//   SIN-HALF    half_split   sine    paper          kimiyoung/transformer-xl, zihangdai/xlnet, Marian (odd "extra")
//   SIN-SU      interleaved  cosine  paper, power   Su 2021
//   SIN-TIME    half_split   cosine  paper          openai/guided-diffusion, CompVis/stable-diffusion (odd "padded")
//
// Odd widths d, which the paper leaves out: see sinusoidal_columns.hpp. "paper" and "power" keep 2i/d, except where a
// column is added to the table of the even width (timestep_embedding of openai/guided-diffusion,
// guided_diffusion/nn.py). `offset` is added to every position (fairseq counts from padding_idx + 1).
//
// Errors of sines, cosines and the curve of decay, which pass through zero, are measured against 1.
//
// Special values: position 0 gives sines of exactly 0 and cosines of exactly 1. A NaN in position or theta reaches the
// elements that are computed from it. Gradients: with the angle x = m theta, dp/dm = theta p'(x) and dp/dtheta = m
// p'(x); the factor m makes the gradient of trainable frequencies grow with position. dtheta/db = -e theta / b, where e
// is the exponent. Law: one rounding of theta (as exp(-e log b) or exp(alpha log t)) and one of the angle, so the error
// grows as m theta u; the addition theorem where its error is smaller (frequencies.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "reference/algorithms/sinusoidal_columns.hpp"
#include "reference/kinds/recorded_call.hpp"

namespace assay::reference::encodings {

struct sinusoidal {
  static constexpr std::string_view name = "sinusoidal";
  static core::encoding_summary summary() {
    return {.what = "tables of sines and cosines",
            .formula = "p_{m,2i} = sin(m theta_i), p_{m,2i+1} = cos(m theta_i), theta_i = 10000^(-2i/d)",
            .sources = {{"Vaswani et al. 2017", "https://arxiv.org/abs/1706.03762"}},
            .also = {{"Su's order, his powers t^alpha, and his curve of decay",
                      "`layout`, `first` and `rule` of sinusoidal/table, and sinusoidal/decay"},
                     {"SHAPE, positions shifted at random", "`offset` of sinusoidal/table"},
                     {"timestep embeddings of diffusion", "`layout`, `first` and `odd` of sinusoidal/table"}}};
  }

  /// The parts of a table that have a format of their own. All are computed in f32 and stored once, whatever the dtype,
  /// as in SinusoidalPositionalEmbedding.get_embedding of facebookresearch/fairseq
  /// (fairseq/modules/sinusoidal_positional_embedding.py). Transformer-XL and XLNet compute angles in the dtype of the
  /// tensors.
  enum class stage { angle, table };

  using traced = formula::traced;
  /// t^alpha for the first `count` numbers t = stride i / steps; 0 for t = 0. Precondition: alpha > 0.
  static traced powers(const traced& alpha, std::size_t count, const frequency_scale& by);
  /// sin or cos of m theta.
  static traced wave_at(waveform function, const traced& m, const traced& theta);
  /// I_b(s).
  static traced decay_at(const traced& s, const traced& base);
  /// The steps that variants replace.
  struct scheme : recorded_scheme<scheme> {
    std::function<table_plan(const core::attributes& settings)> plan = plan_of_table;
    std::function<traced(const formula::traced_integer& m)> position = [](const formula::traced_integer& m) {
      return to_real(m);
    };
    std::function<traced(const traced& base, std::size_t count, const frequency_scale& by)> frequencies =
        frequencies_of_scale;
    std::function<traced(const traced& alpha, std::size_t count, const frequency_scale& by)> power = powers;
    std::function<traced(waveform function, const traced& m, const traced& theta)> wave = wave_at;
    std::function<traced(const traced& s, const traced& base)> decay = decay_at;
  };
  static std::vector<recorded_formula<scheme>> formulas();

 private:
  static std::array<core::operation, 4> declarations();
  static formula::program table(const scheme& steps, const formula::program_sizes& call);
  static formula::program table_at(const scheme& steps, const formula::program_sizes& call);
  static formula::program frequencies(const scheme& steps, const formula::program_sizes& call);
  static formula::program decay(const scheme& steps, const formula::program_sizes& call);
  static traced decay_slope_at(const traced& s, const traced& base);
  /// Rows with these columns for positions [n], from the frequencies of pairs.
  static traced rows(const scheme& steps, const std::vector<column>& columns, const traced& position,
                     const traced& theta);
};

inline sinusoidal::traced sinusoidal::powers(const traced& alpha, std::size_t count, const frequency_scale& by) {
  using index = formula::traced_integer;
  const auto constant = [](std::size_t x) { return index::constant(static_cast<std::int64_t>(x)); };
  const index places = (formula::counted(count - 1) + constant(1)) * constant(by.stride);
  const traced other_frequencies = pow(index_number(places) / index_number(constant(by.steps)), alpha);
  return formula::joined({broadcast(traced(0.0), {1}), other_frequencies}, 0);
}

inline sinusoidal::traced sinusoidal::wave_at(waveform function, const traced& m, const traced& theta) {
  const traced angle = in_stage<traced>(stage::angle, [&] { return m * theta; });
  return in_stage<traced>(stage::table, [&] { return function == waveform::sine ? sine_of(angle) : cosine_of(angle); });
}

inline sinusoidal::traced sinusoidal::decay_at(const traced& s, const traced& base) {
  const traced curve = traced(1.0) - (entire_cosine_integral(s) - entire_cosine_integral(s / base)) / log(base);
  return with_slope(curve, s, decay_slope_at(s, base));
}
/// (cos s - cos(s/b)) / (s log b), 0 at s = 0. Where s is small and the cosines cancel, their difference is computed as
/// a product of sines; programs may use either.
inline sinusoidal::traced sinusoidal::decay_slope_at(const traced& s, const traced& base) {
  const traced by_cosines = (cos(s) - cos(s / base)) / (s * log(base)), half = s / traced(2.0), share = half / base;
  const traced by_sines = -(traced(2.0) * sin(half + share) * (sin(half - share) / (s * log(base))));
  const traced slope =
      either(less(traced(1.0), magnitude_of(s)), by_cosines, covering(by_sines, [&] { return by_cosines; }));
  return either(equal(s, traced(0.0)), traced(0.0), slope);
}

inline sinusoidal::traced sinusoidal::rows(const scheme& steps, const std::vector<column>& columns,
                                           const traced& position, const traced& theta) {
  const std::size_t n = shape_of(position)[0];
  const traced m = reshaped(position, {n, 1});
  const auto gathered_columns = [](const traced& x, const std::vector<std::int64_t>& places, std::size_t axis) {
    bool are_all = places.size() == shape_of(x)[axis];
    for (std::size_t k = 0; k < places.size(); ++k) are_all = are_all && places[k] == static_cast<std::int64_t>(k);
    return are_all ? x : gathered(x, formula::known_integers({places.size()}, places), axis);
  };
  std::vector<traced> all;
  std::vector<std::int64_t> places(columns.size());
  std::int64_t made = 0;
  for (const waveform function : {waveform::sine, waveform::cosine, waveform::zero}) {
    std::vector<std::int64_t> pairs;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].function != function) continue;
      places[c] = made++;
      pairs.push_back(static_cast<std::int64_t>(columns[c].pair));
    }
    if (pairs.empty()) continue;
    all.push_back(function == waveform::zero ? broadcast(traced(0.0), {n, pairs.size()})
                                             : steps.wave(function, m, gathered_columns(theta, pairs, 0)));
  }
  return all.empty() ? broadcast(traced(0.0), {n, 0}) : gathered_columns(formula::joined(all, 1), places, 1);
}

/// The table; its frequencies follow from the settings.
inline formula::program sinusoidal::table(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const auto [scale, columns] = steps.plan(call.settings);
  std::size_t count = 1;
  for (const column& c : columns) count = std::max(count, c.pair + 1);
  const auto offset = formula::traced_integer::constant(in.setting<std::int64_t>("offset"));
  const auto [position, theta] = in_stage<traced>(stage::angle, [&] {
    return std::pair(steps.position(in.integers("position") + offset),
                     scale.is_power ? steps.power(in.number("alpha"), count, scale)
                                    : steps.frequencies(in.number("base"), count, scale));
  });
  return in.finish(rows(steps, columns, position, theta));
}
inline formula::program sinusoidal::table_at(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced position = in["position"], theta = in["theta"];
  return in.finish(rows(steps, arrange_pairs(call.settings, in.size("r"), in.size("r")), position, theta));
}
inline formula::program sinusoidal::frequencies(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const std::size_t pairs = in.size("r");
  return in.finish(steps.frequencies(in["base"], pairs, scale_of(in.setting<std::string>("rule"), 2 * pairs, pairs)));
}
inline formula::program sinusoidal::decay(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  return in.finish(steps.decay(in["s"], in.number("base")));
}

inline std::array<core::operation, 4> sinusoidal::declarations() {
  using core::input_role;
  constexpr const char* source = "Vaswani et al. 2017, arXiv 1706.03762, section 3.5";
  constexpr core::value_domain positions{-0x1p31, 0x1p31};
  const auto layout = choice("layout", {"interleaved", "half_split"},
                             "where sines and cosines stand: by turns, or in halves"),
             first = choice("first", {"sine", "cosine"}, "which function the first column is"),
             rule = choice("rule", {"paper", "tensor2tensor"},
                           "what frequencies are: b^(-2i/d), or b^(-i/(d/2 - 1)), whose slowest is 1/b"),
             rule_of_table = with_later_value(
                 "power", {0, 2},
                 choice("rule", {"paper", "tensor2tensor", "power"}, rule.meaning + ", or (2i/d)^alpha")),
             odd = choice(
                 "odd", {"zero", "extra", "padded"},
                 "what the last column of an odd width is: 0, one more of the first function, or 0 after the table of "
                 "width d - 1");
  const auto base = [](double low) { return real("base", {1e4, 1e3, 1e2}, {low, 1e9}, "b of the frequencies"); };
  const std::vector<core::stage_declaration> stages{{.name = "angle", .meaning = "frequencies, positions and m theta"},
                                                    {.name = "table", .meaning = "sines and cosines of the angles"}};
  auto with_sums = stages;
  with_sums.push_back({.name = std::string(core::accumulation), .meaning = "the sums in grad_position and grad_theta"});
  const auto table = [](const char* columns) -> core::tensor_declaration {
    return {.name = "p", .axes = {"n", columns}, .meaning = "encodings, positions by columns"};
  };
  return {
      {{.name = "sinusoidal/table",
        .source = source,
        .inputs = {core::integers("position", {"n"}, "positions m", positions, input_role::position)},
        .outputs = {table("d")},
        .attributes = {integer("width", {8, 16, 4, 2, 1, 3, 7}, {1, 65536}, "d: how many columns the table has", "d"),
                       layout, first, rule_of_table, base(1.0),
                       integer("offset", {0, 1, 2}, {0, positions.high}, "what is added to every position"), odd,
                       real("alpha", {1.0, 2.0, 0.5, 3.0}, {0x1p-6, 64.0}, "alpha: the exponent of the rule power")},
        .stages = stages,
        .grows_with = core::with_position,
        .independent = {"n"}},
       {.name = "sinusoidal/table_at",
        .source = source,
        .inputs = {{.name = "position", .axes = {"n"}, .meaning = "positions m", .role = input_role::position},
                   core::parameter("theta", {"r"}, "frequencies")},
        .outputs = {table("2r")},
        .attributes = {layout, first},
        .stages = with_sums,
        .grows_with = core::with_position,
        .independent = {"n"}},
       {.name = "sinusoidal/frequencies",
        .source = source,
        .inputs = {core::parameter("base", {"k"}, "b", {.low = 1.0})},
        // A frequency is a power: it has the relative accuracy of its logarithm, and angles m theta need all of it.
        .outputs = {{.name = "theta",
                     .axes = {"k", "r"},
                     .meaning = "frequencies of d = 2r columns",
                     .scale = core::error_scale::relative}},
        .attributes = {integer("pairs", {4, 1, 2, 3, 8}, {1, 32768}, "r: how many pairs of columns there are", "r"),
                       rule},
        .independent = {"k"}},
       {.name = "sinusoidal/decay",
        .source = "Su 2021, kexue.fm/archives/8231",
        .inputs =
            {{.name = "s", .axes = {"n"}, .meaning = "distances", .domain = positions, .role = input_role::distance}},
        .outputs = {{.name = "g", .axes = {"n"}, .meaning = "the integral of cos(s b^-t) over t from 0 to 1"}},
        .attributes = {base(20.0)},
        .grows_with = core::with_state,
        .independent = {"n"}}}};
}

inline std::vector<recorded_formula<sinusoidal::scheme>> sinusoidal::formulas() {
  const auto [table_declaration, table_at_declaration, frequencies_declaration, decay_declaration] = declarations();
  return {{table_declaration, table},
          {table_at_declaration, table_at},
          {frequencies_declaration, frequencies},
          {decay_declaration, decay}};
}

}  // namespace assay::reference::encodings
