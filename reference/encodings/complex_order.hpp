// Complex-valued word embeddings (Wang et al., "Encoding word order in complex embeddings", ICLR 2020, arXiv
// 1912.12333): each component of a word is rotated with the position, by a frequency of this word,
//
//   complex_order/embed   f_c(m) = a_c e^(i (w_c m + phi_c)) = a_c cos(w_c m + phi_c) + i a_c sin(w_c m + phi_c)
//   complex_order/scores  s_ij = Re(sum_c q_ic conj(k_jc)) / sqrt(d)     `product` "hermitian"
//                         s_ij = |sum_c q_ic k_jc| / sqrt(d)             "bilinear"
//
// Shapes: amplitude a (of any sign), frequency w, phase phi [B, n, d], the rows of each word in tables; position m [B,
// n]; f [B, n, d, 2], whose last axis is the pair (re, im), as in torch.view_as_real. An error is measured against the
// larger of the two: it is at least |a| / sqrt(2), while each of them passes through zero. q [B, h, n, d, 2], k [B, h,
// m, d, 2], s [B, h, n, m]. `reversed`: token i has the position of token n - 1 - i, as the classifier of
// iclr-complex-order/complex-order (TEXT CLASSIFICATION/Transformer) counts.
//
// Hermitian scores of f(m) and f(n) with equal frequencies depend on m - n. Bilinear ones, which that code has
// (attention_complex.py), depend on m + n: if two tokens move together, the score changes.
//
// Special values: at exactly 0 the modulus has no gradient; here it is 0 (algorithms/modulus.hpp). In the public code
// it is NaN, where a query or key is zero. NaN reaches the pair, or the scores, that are computed from it. Gradients:
// that of w is m times that of phi. Law: an angle w m + phi has an error of (2 |w m| + |phi|) u, for an m that the
// format holds; cosine and sine may also be sums of products (addition theorem).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "reference/algorithms/waves.hpp"
#include "reference/kinds/relative_scores.hpp"

namespace assay::reference::encodings {

/// x . y for vectors [B, h, n, d] and [B, h, m, d].
inline formula::traced product_of_parts(const formula::traced& x, const formula::traced& y) {
  return contracted(x, y, "bhid,bhjd->bhij");
}
inline formula::traced hermitian_product(const complex_numbers& q, const complex_numbers& k) {
  return product_of_parts(q.re, k.re) + product_of_parts(q.im, k.im);
}
/// The sum of q k.
inline complex_numbers bilinear_product(const complex_numbers& q, const complex_numbers& k) {
  return {product_of_parts(q.re, k.re) - product_of_parts(q.im, k.im),
          product_of_parts(q.re, k.im) + product_of_parts(q.im, k.re)};
}
inline formula::traced bilinear_modulus(const complex_numbers& q, const complex_numbers& k) {
  const complex_numbers sum = bilinear_product(q, k);
  return modulus_of(sum.re, sum.im);
}
/// As in product_of (relative_scores.hpp), programs may multiply one vector by the factor of the scores.
inline formula::traced product_of_vectors(bool bilinear, const complex_numbers& q, const complex_numbers& k) {
  const auto modulus = [&](const complex_numbers& x) {
    return bilinear ? bilinear_modulus(x, k) : hermitian_product(x, k);
  };
  return covering(modulus(q), [&] { return modulus({rounded_once(q.re), rounded_once(q.im)}); });
}

/// Errors grow with the angle: this is for words whose frequencies are at most 1, as in mild inputs.
inline const core::error_growth with_position_of_mild_words{
    .quantity = core::with_position.quantity, .value_words = core::with_position.value_words, .of_mild_inputs = true};

struct complex_order {
  static constexpr std::string_view name = "complex_order";
  static core::encoding_summary summary() {
    return {.what = "complex-valued word embeddings that turn with the position",
            .formula = "f(m) = a exp(i (w m + phi)), s_ij = Re(q_i . conj(k_j)) / sqrt(d)",
            .sources = {{"Wang et al. 2020", "https://arxiv.org/abs/1912.12333"}}};
  }

  /// The parts of an embedding that have a format of their own, in the order of its stages.
  enum class stage { angle, product };

  using traced = formula::traced;
  /// The steps that variants replace.
  struct scheme : recorded_scheme<scheme> {
    /// The token that has the position of token i of n.
    std::function<std::size_t(std::size_t i, std::size_t n, bool reversed)> place =
        [](std::size_t i, std::size_t n, bool reversed) { return reversed ? n - 1 - i : i; };
    std::function<complex_numbers(const traced& turned, const traced& phase)> wave = wave_of;
    std::function<traced(bool bilinear, const complex_numbers& q, const complex_numbers& k)> product =
        product_of_vectors;
    std::function<traced(std::size_t width, std::size_t heads, std::size_t terms)> factor = factor_of_scores;
  };
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{embed_declaration(), embed}, {scores_declaration(), scores}};
  }

 private:
  static core::operation embed_declaration();
  static core::operation scores_declaration();
  static formula::program embed(const scheme& steps, const formula::program_sizes& call);
  static formula::program scores(const scheme& steps, const formula::program_sizes& call);
  /// The parts of queries or keys [B, h, n, d, 2].
  static complex_numbers parts_of(const traced& x);
};

inline core::operation complex_order::embed_declaration() {
  const auto word_input = [](const char* called, const char* meaning) {
    return core::tensor_declaration{.name = called, .axes = {"B", "n", "d"}, .meaning = meaning};
  };
  return {
      .name = "complex_order/embed",
      .source = "Wang et al. 2020, arXiv 1912.12333",
      .inputs = {word_input("amplitude", "a"), word_input("frequency", "w, radians a position"),
                 word_input("phase", "phi"),
                 core::integers("position", {"B", "n"}, "positions m", {-0x1p31, 0x1p31}, core::input_role::position)},
      .outputs = {{.name = "f",
                   .axes = {"B", "n", "d", "2"},
                   .meaning = "embeddings, real and imaginary part",
                   .scale = core::error_scale::by_row}},
      .attributes = {flag("reversed", false, "whether positions count down from the last token")},
      .stages = {{.name = "angle", .meaning = "positions, w m + phi, cosines and sines"},
                 {.name = "product", .meaning = "cosines and sines as they multiply a, and f", .narrow = true}},
      .grows_with = with_position_of_mild_words,
      .independent = {"B", "d"}};
}

inline core::operation complex_order::scores_declaration() {
  core::operation op = relative_scores("complex_order/scores", "m");
  op.source = "Wang et al. 2020, arXiv 1912.12333, and its released code";
  for (core::tensor_declaration& vectors : op.inputs) {
    vectors.axes.emplace_back("2");
    vectors.meaning += ", real and imaginary part";
  }
  op.attributes = {
      choice("product", {"hermitian", "bilinear"},
             "what a score is: the real part of <q, k>, or the modulus of the sum of q k, which conjugates nothing")};
  op.named_only = true;
  return op;
}

inline formula::program complex_order::embed(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced amplitude = in["amplitude"], frequency = in["frequency"], phase = in["phase"];
  const std::size_t rows = in.size("B"), n = in.size("n"), d = in.size("d");
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < n; ++i)
    places.push_back(static_cast<std::int64_t>(steps.place(i, n, in.setting<bool>("reversed"))));
  const auto position = gathered(in.integers("position"), formula::known_integers({n}, places), 1);
  const complex_numbers wave = in_stage<traced>(stage::angle, [&] {
    return steps.wave(reshaped(to_real(position), {rows, n, 1}) * frequency, phase);
  });
  const auto part = [&](const traced& function) {
    return reshaped(amplitude * taken_from(static_cast<std::size_t>(stage::angle), function), {rows, n, d, 1});
  };
  return in.finish(in_stage<traced>(stage::product, [&] {
    return formula::joined({part(wave.re), part(wave.im)}, 3);
  }));
}

inline complex_numbers complex_order::parts_of(const traced& x) {
  const core::shape s = shape_of(x);
  const auto part = [&](std::size_t k) { return reshaped(between(x, 4, k, k + 1), {s[0], s[1], s[2], s[3]}); };
  return {part(0), part(1)};
}
inline formula::program complex_order::scores(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const bool bilinear = core::chosen<bool>(call.settings, "product", {{"hermitian", false}, {"bilinear", true}});
  const complex_numbers q = parts_of(in["q"]), k = parts_of(in["k"]);
  return in.finish(in_stage<traced>(score_stage::scores, [&] {
    return steps.factor(in.size("d"), in.size("h"), 1) * steps.product(bilinear, q, k);
  }));
}

}  // namespace assay::reference::encodings
