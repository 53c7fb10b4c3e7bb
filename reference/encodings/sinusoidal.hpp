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
//
// Shapes: `sinusoidal/table` position [n] to p [n, d]; `sinusoidal/table_at` position [n], theta [r] to p [n, 2r];
// `sinusoidal/frequencies` base [k] to theta [k, r]; `sinusoidal/decay` s [n] to g [n]. Conventions on which
// implementations differ:
//
//   name        layout       first   rule           found in
//   SIN-PAPER   interleaved  sine    paper          the paper, OpenNMT-py
//   SIN-T2T     half_split   sine    tensor2tensor  tensorflow/tensor2tensor, fairseq, fastnlp/TENER (odd "zero")
//   SIN-HALF    half_split   sine    paper          kimiyoung/transformer-xl, zihangdai/xlnet, Marian (odd "extra")
//   SIN-SU      interleaved  cosine  paper          Su 2021
//   SIN-TIME    half_split   cosine  paper          openai/guided-diffusion, CompVis/stable-diffusion (odd "padded")
//
// Odd widths d, which the paper leaves out: sinusoidal_columns.hpp; "paper" keeps its exponent 2i/d but where a column
// is added to the table of the even width (timestep_embedding of openai/guided-diffusion, guided_diffusion/nn.py).
// `offset` is added to every position (fairseq counts from padding_idx + 1).
//
// Errors of sines, cosines and the curve of decay, which pass through zero, are measured against 1.
//
// Special values: position 0 gives sines 0 and cosines 1 exactly; a NaN in position or theta reaches the elements that
// it enters. Gradients: with the angle x = m theta, dp/dm = theta p'(x) and dp/dtheta = m p'(x); the factor m makes the
// gradient of trainable frequencies grow with position. dtheta/db = -e theta / b, e the exponent. Law: one rounding of
// theta (as exp(-e log b)) and one of the angle, so the error grows as m theta u; the addition theorem where that is
// less (frequencies.hpp).
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <string_view>

#include "reference/algorithms/frequencies.hpp"
#include "reference/algorithms/settings.hpp"
#include "reference/algorithms/sinusoidal_columns.hpp"
#include "reference/derived_vjp.hpp"
#include "reference/operation_record.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::reference::encodings {

/// What of a table has a format of its own, in the order of sinusoidal_stages().
enum class sinusoidal_stage { angle, table };

/// All in f32 and stored once, whatever the dtype, as SinusoidalPositionalEmbedding.get_embedding of
/// facebookresearch/fairseq (fairseq/modules/sinusoidal_positional_embedding.py) has it. Transformer-XL and XLNet
/// compute angles in the dtype of the tensors.
inline std::vector<core::stage_declaration> sinusoidal_stages() {
  return {{.name = "angle", .meaning = "frequencies, positions and m theta"},
          {.name = "table", .meaning = "sines and cosines of the angles"}};
}

/// sin or cos of m theta.
template <class R>
R wave_at(waveform function, const R& m, const R& theta) {
  if (function == waveform::zero) return R(0.0);
  const R angle = in_stage<R>(
      sinusoidal_stage::angle, [](const R& x, const R& y) { return x * y; }, m, theta);
  return in_stage<R>(
      sinusoidal_stage::table, [=](const R& a) { return function == waveform::sine ? sine_of(a) : cosine_of(a); },
      angle);
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

struct sinusoidal {
  static constexpr std::string_view name = "sinusoidal";

  /// How elements are computed: what mutants and controls replace.
  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    std::function<table_plan(const core::attributes&)> plan = plan_of_table;
    std::function<R(double)> position = from_integer<R>;
    std::function<R(const R& base, std::size_t step, std::size_t steps)> frequency = geometric_frequency<R>;
    std::function<R(waveform, const R& m, const R& theta)> wave = wave_at<R>;
    std::function<R(const R& s, const R& base)> decay = decay_at<R>;
  };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    return {table_record<R>(), table_at_record<R>(), frequencies_record<R>(), decay_record<R>()};
  }

 private:
  template <class R>
  static record<R> table_record();
  template <class R>
  static record<R> table_at_record();
  template <class R>
  static record<R> frequencies_record();
  template <class R>
  static record<R> decay_record();
  template <class R>
  static fields<R> table(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> table_at(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> frequencies(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> decay(const arguments<R>& call, const recipe<R>& how);

  static core::attribute_declaration layout() {
    return choice("layout", "interleaved", "half_split", "pairs side by side, or halves");
  }
  static core::attribute_declaration first() {
    return choice("first", "sine", "cosine", "the function of the first column");
  }
  static core::attribute_declaration rule() {
    return choice("rule", "paper", "tensor2tensor", "frequencies b^(-2i/d), or b^(-i/(d/2 - 1)), whose slowest is 1/b");
  }
  static core::attribute_declaration odd() {
    using std::string;
    return {.name = "odd",
            .meaning =
                "the last column of an odd width: 0, one more of the first function, or 0 behind the table of "
                "width d - 1",
            .standard = string("zero"),
            .values = {string("zero"), string("extra"), string("padded")}};
  }
  static core::attribute_declaration base(double low) {
    return {.name = "base", .meaning = "b", .standard = 1e4, .values = {1e4, 1e3, 1e2}, .low = low, .high = 1e9};
  }
  /// Of two strings, the standard one first.
  static core::attribute_declaration choice(const char* called, std::string standard, std::string other,
                                            const char* meaning) {
    return {.name = called, .meaning = meaning, .standard = standard, .values = {standard, std::move(other)}};
  }
  static std::vector<core::stage_declaration> stages_with_sums() {
    std::vector<core::stage_declaration> all = sinusoidal_stages();
    all.push_back({.name = std::string(core::accumulation), .meaning = "the sums in grad_position and grad_theta"});
    return all;
  }
  static std::vector<core::attribute> integers(const std::vector<std::int64_t>& all) {
    return {all.begin(), all.end()};
  }
  static constexpr double furthest = 0x1p31;
  static constexpr core::value_domain domain_of_positions{-furthest, furthest};
  static constexpr const char* source = "Vaswani et al. 2017, arXiv 1706.03762, section 3.5";
};

template <class R>
sinusoidal::record<R> sinusoidal::table_record() {
  return {.declaration = {.name = "sinusoidal/table",
                          .source = source,
                          .inputs = {core::integers("position", {"n"}, "positions m", domain_of_positions,
                                                    core::input_role::position)},
                          .outputs = {{.name = "p", .axes = {"n", "d"}, .meaning = "encodings, positions by columns"}},
                          .attributes = {{.name = "width",
                                          .meaning = "columns d",
                                          .standard = std::int64_t{8},
                                          .values = integers({8, 16, 4, 2, 1, 3, 7}),
                                          .low = 1,
                                          .high = 65536,
                                          .axis = "d"},
                                         layout(),
                                         first(),
                                         rule(),
                                         base(1.0),
                                         {.name = "offset",
                                          .meaning = "added to every position",
                                          .standard = std::int64_t{0},
                                          .values = integers({0, 1, 2}),
                                          .low = 0,
                                          .high = furthest},
                                         odd()},
                          .stages = sinusoidal_stages(),
                          .grows_with = &core::with_position,
                          .independent = {"n"}},
          .algorithms = one_algorithm,
          .forward = table<R>,
          .vjp = not_differentiable,
          .jvp = not_offered};
}

template <class R>
sinusoidal::record<R> sinusoidal::table_at_record() {
  return {
      .declaration =
          {.name = "sinusoidal/table_at",
           .source = source,
           .inputs = {{.name = "position", .axes = {"n"}, .meaning = "positions m", .role = core::input_role::position},
                      core::parameter("theta", {"r"}, "frequencies")},
           .outputs = {{.name = "p", .axes = {"n", "2r"}, .meaning = "encodings, positions by columns"}},
           .attributes = {layout(), first()},
           .stages = stages_with_sums(),
           .grows_with = &core::with_position,
           .independent = {"n"}},
      .algorithms = one_algorithm,
      .forward = table_at<R>,
      .vjp = derived_vjp<sinusoidal, R>,
      .jvp = not_offered};
}

template <class R>
sinusoidal::record<R> sinusoidal::frequencies_record() {
  return {.declaration = {.name = "sinusoidal/frequencies",
                          .source = source,
                          .inputs = {core::parameter("base", {"k"}, "b", {.low = 1.0})},
                          // A power: it has the relative accuracy of its logarithm, and angles m theta need all of it.
                          .outputs = {{.name = "theta",
                                       .axes = {"k", "r"},
                                       .meaning = "frequencies of d = 2r columns",
                                       .scale = core::error_scale::relative}},
                          .attributes = {{.name = "pairs",
                                          .meaning = "r",
                                          .standard = std::int64_t{4},
                                          .values = integers({4, 1, 2, 3, 8}),
                                          .low = 1,
                                          .high = 32768,
                                          .axis = "r"},
                                         rule()},
                          .independent = {"k"}},
          .algorithms = one_algorithm,
          .forward = frequencies<R>,
          .vjp = derived_vjp<sinusoidal, R>,
          .jvp = not_offered};
}

template <class R>
sinusoidal::record<R> sinusoidal::decay_record() {
  return {.declaration =
              {.name = "sinusoidal/decay",
               .source = "Su 2021, kexue.fm/archives/8231",
               .inputs = {{.name = "s",
                           .axes = {"n"},
                           .meaning = "distances",
                           .domain = domain_of_positions,
                           .role = core::input_role::distance}},
               .outputs = {{.name = "g", .axes = {"n"}, .meaning = "the integral of cos(s b^-t) over t from 0 to 1"}},
               .attributes = {base(20.0)},
               .grows_with = &core::with_state,
               .independent = {"n"}},
          .algorithms = one_algorithm,
          .forward = decay<R>,
          .vjp = derived_vjp<sinusoidal, R>,
          .jvp = not_offered};
}

template <class R>
fields<R> sinusoidal::table(const arguments<R>& call, const recipe<R>& how) {
  const auto& positions = call.integers.at("position").values.storage();
  const auto offset = static_cast<double>(core::setting<std::int64_t>(call.settings, "offset"));
  const double base = core::setting<double>(call.settings, "base");
  const auto in_angles = [](auto compute) { return in_stage<R>(sinusoidal_stage::angle, compute); };
  const table_plan plan = how.plan(call.settings);
  const std::size_t n = positions.size(), d = plan.columns.size();
  field<R> p = make_field<R>({n, d});
  for (std::size_t c = 0; c < d; ++c) {
    const column& here = plan.columns[c];
    if (here.function == waveform::zero) continue;
    const R theta = in_angles(
        [&] { return how.frequency(from_setting<R>(base), plan.scale.stride * here.pair, plan.scale.steps); });
    for (std::size_t i = 0; i < n; ++i)
      p(i, c) = how.wave(here.function, in_angles([&] { return how.position(positions[i] + offset); }), theta);
  }
  return {{"p", std::move(p)}};
}

template <class R>
fields<R> sinusoidal::table_at(const arguments<R>& call, const recipe<R>& how) {
  const field<R>&positions = call["position"], &theta = call["theta"];
  const std::vector<column> columns = arrange_pairs(call.settings, theta.size(), theta.size());
  field<R> p = make_field<R>({positions.size(), columns.size()});
  for (std::size_t i = 0; i < positions.size(); ++i)
    for (std::size_t c = 0; c < columns.size(); ++c)
      p(i, c) = how.wave(columns[c].function, positions(i), theta(columns[c].pair));
  return {{"p", std::move(p)}};
}

template <class R>
fields<R> sinusoidal::frequencies(const arguments<R>& call, const recipe<R>& how) {
  const field<R>& bases = call["base"];
  const auto pairs = static_cast<std::size_t>(core::setting<std::int64_t>(call.settings, "pairs"));
  const frequency_scale scale = scale_of(core::setting<std::string>(call.settings, "rule"), 2 * pairs, pairs);
  field<R> theta = make_field<R>({bases.size(), pairs});
  for (std::size_t k = 0; k < bases.size(); ++k)
    for (std::size_t i = 0; i < pairs; ++i) theta(k, i) = how.frequency(bases(k), scale.stride * i, scale.steps);
  return {{"theta", std::move(theta)}};
}

template <class R>
fields<R> sinusoidal::decay(const arguments<R>& call, const recipe<R>& how) {
  const field<R>& distances = call["s"];
  const R base = from_setting<R>(core::setting<double>(call.settings, "base"));
  field<R> g = make_field<R>({distances.size()});
  for (std::size_t i = 0; i < distances.size(); ++i) g(i) = how.decay(distances(i), base);
  return {{"g", std::move(g)}};
}

}  // namespace assay::reference::encodings
