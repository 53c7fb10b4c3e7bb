// Sinusoidal position encodings (Vaswani et al., "Attention Is All You Need", 2017, arXiv 1706.03762, section 3.5) and
// what Su derived of them ("Transformer Upgrade Road: 1", 2021, kexue.fm/archives/8231). With theta_i = b^(-2i/d),
//
//   p_{m,2i} = sin(m theta_i),  p_{m,2i+1} = cos(m theta_i),  i = 0 ... d/2 - 1
//
// and, as theta_t = b^-t, t in [0, 1], fills the frequencies, (2/d) <p_m, p_n> tends to Su's curve of decay
//
//   I_b(s) = integral of cos(s b^-t) dt = 1 - (Cin(s) - Cin(s/b)) / ln b,  s = m - n,  I_b(0) = 1
//
// which is [Ci(|s|) - Ci(|s|/b)] / ln b for s other than 0, where its derivative is (cos s - cos(s/b)) / (s ln b).
// His other family, theta_t = t^alpha at t = 2i/d, is the rule "power" of the table; its first pair is the constant
// 0, 1. The base is of the other rules, alpha of this one.
//
// SHAPE (Kiyono et al., "SHAPE: Shifted Absolute Position Embedding for Transformers", 2021, arXiv 2109.05644) needs no
// operation of its own: it is this table with a random `offset` k, drawn once for a sequence while it trains. p_{m+k}
// is p_m turned by the angles of k, so that inner products stay. butsugiri/shape draws k below K, not up to it, and
// adds K where it does not train.
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
// Odd widths d, which the paper leaves out: sinusoidal_columns.hpp; "paper" and "power" keep 2i/d but where a column
// is added to the table of the even width (timestep_embedding of openai/guided-diffusion, guided_diffusion/nn.py).
// `offset` is added to every position (fairseq counts from padding_idx + 1).
//
// Errors of sines, cosines and the curve of decay, which pass through zero, are measured against 1.
//
// Special values: position 0 gives sines 0 and cosines 1 exactly; a NaN in position or theta reaches the elements that
// it enters. Gradients: with the angle x = m theta, dp/dm = theta p'(x) and dp/dtheta = m p'(x); the factor m makes the
// gradient of trainable frequencies grow with position. dtheta/db = -e theta / b, e the exponent. Law: one rounding of
// theta (as exp(-e log b) or exp(alpha log t)) and one of the angle, so the error grows as m theta u; the addition
// theorem where that is less (frequencies.hpp).
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "reference/algorithms/frequencies.hpp"
#include "reference/algorithms/settings.hpp"
#include "reference/algorithms/sinusoidal_columns.hpp"
#include "reference/kinds/table.hpp"

namespace assay::reference::encodings {

/// What of a table has a format of its own. All are in f32 and stored once, whatever the dtype, as
/// SinusoidalPositionalEmbedding.get_embedding of facebookresearch/fairseq has it
/// (fairseq/modules/sinusoidal_positional_embedding.py). Transformer-XL and XLNet compute angles in the dtype of the
/// tensors.
enum class sinusoidal_stage { angle, table };

/// sin or cos of m theta.
template <class R>
R wave_at(waveform function, const R& m, const R& theta) {
  const R angle = in_stage<R>(
      sinusoidal_stage::angle, [](const R& x, const R& y) { return x * y; }, m, theta);
  return in_stage<R>(
      sinusoidal_stage::table, [=](const R& a) { return function == waveform::sine ? sine_of(a) : cosine_of(a); },
      angle);
}

/// (t / steps)^alpha, 0 for t = 0. Precondition: alpha > 0, steps > 0 or t = 0.
template <class R>
R power_frequency(const R& alpha, std::size_t t, std::size_t steps) {
  if (t == 0) return R(0.0);
  return pow(R(static_cast<double>(t)) / R(static_cast<double>(steps)), alpha);
}

/// I_b(s).
template <class R>
R decay_at(const R& s, const R& base) {
  return R(1.0) - (entire_cosine_integral(s) - entire_cosine_integral(s / base)) / log(base);
}
/// Its slope in s, 0 at s = 0: (cos s - cos(s/b)) / (s log b). Where s is small and the cosines cancel, their
/// difference is a product of sines; programs may have either.
template <class R>
R decay_slope_at(const R& s, const R& base) {
  if (to_double(s) == 0.0) return R(0.0);
  const auto by_cosines = [&] { return (cos(s) - cos(s / base)) / (s * log(base)); };
  if (std::fabs(to_double(s)) > 1.0) return by_cosines();
  const R half = s / R(2.0), share = half / base;
  return covering(-(R(2.0) * sin(half + share) * (sin(half - share) / (s * log(base)))), by_cosines);
}
/// The base is a setting.
template <carries_derivatives D>
D decay_at(const D& s, const D& base) {
  return D::made(decay_at(s.number, base.number), D::by(s, [&] { return decay_slope_at(s.number, base.number); }));
}

/// The steps that variants replace.
template <class R>
struct sinusoidal_recipe : differentiable_recipe<sinusoidal_recipe, R> {
  recipe_step<R, table_plan(const core::attributes&)> plan = plan_of_table;
  recipe_step<R, R(double)> position = from_integer<R>;
  recipe_step<R, R(const R& base, std::size_t step, std::size_t steps)> frequency = geometric_frequency<R>;
  recipe_step<R, R(const R& alpha, std::size_t step, std::size_t steps)> power = power_frequency<R>;
  recipe_step<R, R(waveform, const R& m, const R& theta)> wave = wave_at<R>;
  recipe_step<R, R(const R& s, const R& base)> decay = decay_at<R>;
};

/// Of position m, by the frequency of each column.
template <class R>
void fill_row(const std::vector<column>& columns, const sinusoidal_recipe<R>& how, const R& m,
              const std::vector<R>& theta, R* row) {
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (columns[c].function != waveform::zero) row[c] = how.wave(columns[c].function, m, theta[c]);
}
/// Positions are integers, and frequencies follow from the settings.
template <class R>
rows<R> wave_table(const arguments<R>& call, const sinusoidal_recipe<R>& how) {
  const table_plan plan = how.plan(call.settings);
  const bool is_power = plan.scale.is_power;
  const R number = from_setting<R>(call.template setting<double>(is_power ? "alpha" : "base"));
  std::vector<R> theta;
  for (const column& c : plan.columns)
    theta.push_back(c.function == waveform::zero ? R(0.0) : in_stage<R>(sinusoidal_stage::angle, [&] {
      return (is_power ? how.power : how.frequency)(number, plan.scale.stride * c.pair, plan.scale.steps);
    }));
  const auto offset = static_cast<double>(call.template setting<std::int64_t>("offset"));
  return {plan.columns.size(), [&call, &how, plan, theta, offset](std::size_t i, R* row) {
            const double m = call.integers.at("position").values.storage()[i] + offset;
            fill_row(plan.columns, how, in_stage<R>(sinusoidal_stage::angle, [&] { return how.position(m); }), theta,
                     row);
          }};
}
template <class R>
rows<R> wave_table_at(const arguments<R>& call, const sinusoidal_recipe<R>& how) {
  const field<R>&position = call["position"], &given = call["theta"];
  const std::vector<column> columns = arrange_pairs(call.settings, given.size(), given.size());
  std::vector<R> theta;
  for (const column& c : columns) theta.push_back(given(c.pair));
  return {columns.size(), [&how, &position, columns, theta](std::size_t i, R* row) {
            fill_row(columns, how, position(i), theta, row);
          }};
}
template <class R>
rows<R> frequencies_of_base(const arguments<R>& call, const sinusoidal_recipe<R>& how) {
  const auto pairs = static_cast<std::size_t>(call.template setting<std::int64_t>("pairs"));
  const frequency_scale scale = scale_of(call.template setting<std::string>("rule"), 2 * pairs, pairs);
  return {pairs, [&how, &base = call["base"], pairs, scale](std::size_t k, R* row) {
            for (std::size_t i = 0; i < pairs; ++i) row[i] = how.frequency(base(k), scale.stride * i, scale.steps);
          }};
}
template <class R>
rows<R> decay_curve(const arguments<R>& call, const sinusoidal_recipe<R>& how) {
  const R base = from_setting<R>(call.template setting<double>("base"));
  return {1, [&how, &s = call["s"], base](std::size_t i, R* g) { *g = how.decay(s(i), base); }};
}

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
  template <class R>
  using recipe = sinusoidal_recipe<R>;
  static std::array<core::operation, 4> declarations() {
    using core::input_role;
    constexpr const char* source = "Vaswani et al. 2017, arXiv 1706.03762, section 3.5";
    constexpr core::value_domain positions{-0x1p31, 0x1p31};
    const auto layout = choice("layout", {"interleaved", "half_split"}, "pairs side by side, or halves"),
               first = choice("first", {"sine", "cosine"}, "the function of the first column"),
               rule = choice("rule", {"paper", "tensor2tensor"},
                             "frequencies b^(-2i/d), or b^(-i/(d/2 - 1)), whose slowest is 1/b"),
               rule_of_table = with_later_value(
                   "power", {0, 2},
                   choice("rule", {"paper", "tensor2tensor", "power"}, rule.meaning + "; or (2i/d)^alpha")),
               odd = choice(
                   "odd", {"zero", "extra", "padded"},
                   "the last column of an odd width: 0, one more of the first function, or 0 behind the table of "
                   "width d - 1");
    const auto base = [](double low) { return real("base", {1e4, 1e3, 1e2}, {low, 1e9}, "b"); };
    const std::vector<core::stage_declaration> stages{
        {.name = "angle", .meaning = "frequencies, positions and m theta"},
        {.name = "table", .meaning = "sines and cosines of the angles"}};
    auto with_sums = stages;
    with_sums.push_back(
        {.name = std::string(core::accumulation), .meaning = "the sums in grad_position and grad_theta"});
    const auto table = [](const char* columns) -> core::tensor_declaration {
      return {.name = "p", .axes = {"n", columns}, .meaning = "encodings, positions by columns"};
    };
    return {
        {{.name = "sinusoidal/table",
          .source = source,
          .inputs = {core::integers("position", {"n"}, "positions m", positions, input_role::position)},
          .outputs = {table("d")},
          .attributes = {integer("width", {8, 16, 4, 2, 1, 3, 7}, {1, 65536}, "columns d", "d"), layout, first,
                         rule_of_table, base(1.0),
                         integer("offset", {0, 1, 2}, {0, positions.high}, "added to every position"), odd,
                         real("alpha", {1.0, 2.0, 0.5, 3.0}, {0x1p-6, 64.0}, "exponent of the rule power")},
          .stages = stages,
          .grows_with = core::with_position},
         {.name = "sinusoidal/table_at",
          .source = source,
          .inputs = {{.name = "position", .axes = {"n"}, .meaning = "positions m", .role = input_role::position},
                     core::parameter("theta", {"r"}, "frequencies")},
          .outputs = {table("2r")},
          .attributes = {layout, first},
          .stages = with_sums,
          .grows_with = core::with_position},
         {.name = "sinusoidal/frequencies",
          .source = source,
          .inputs = {core::parameter("base", {"k"}, "b", {.low = 1.0})},
          // A power: it has the relative accuracy of its logarithm, and angles m theta need all of it.
          .outputs = {{.name = "theta",
                       .axes = {"k", "r"},
                       .meaning = "frequencies of d = 2r columns",
                       .scale = core::error_scale::relative}},
          .attributes = {integer("pairs", {4, 1, 2, 3, 8}, {1, 32768}, "r", "r"), rule}},
         {.name = "sinusoidal/decay",
          .source = "Su 2021, kexue.fm/archives/8231",
          .inputs =
              {{.name = "s", .axes = {"n"}, .meaning = "distances", .domain = positions, .role = input_role::distance}},
          .outputs = {{.name = "g", .axes = {"n"}, .meaning = "the integral of cos(s b^-t) over t from 0 to 1"}},
          .attributes = {base(20.0)},
          .grows_with = core::with_state}}};
  }
  template <class R>
  static std::vector<operation_record<R, recipe<R>>> records() {
    auto [table, table_at, frequencies, decay] = declarations();
    return {table_record<sinusoidal, R, wave_table<R>>(std::move(table)),
            table_record<sinusoidal, R, wave_table_at<R>>(std::move(table_at)),
            table_record<sinusoidal, R, frequencies_of_base<R>>(std::move(frequencies)),
            table_record<sinusoidal, R, decay_curve<R>>(std::move(decay))};
  }
};

}  // namespace assay::reference::encodings
