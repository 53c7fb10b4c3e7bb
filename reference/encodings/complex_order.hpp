// Complex-valued word embeddings (Wang et al., "Encoding word order in complex embeddings", ICLR 2020, arXiv
// 1912.12333): each component of a word turns with its position, by a frequency of the word's own,
//
//   complex_order/embed   f_c(m) = a_c e^(i (w_c m + phi_c)) = a_c cos(w_c m + phi_c) + i a_c sin(w_c m + phi_c)
//   complex_order/scores  s_ij = Re(sum_c q_ic conj(k_jc)) / sqrt(d)     `product` "hermitian"
//                         s_ij = |sum_c q_ic k_jc| / sqrt(d)             "bilinear"
//
// Shapes: amplitude a (of any sign), frequency w, phase phi [B, n, d], rows of tables as words have them; position m
// [B, n]; f [B, n, d, 2], whose last axis is the pair (re, im), as torch.view_as_real has it: an error is measured
// against the larger of the two, which is at least |a| / sqrt(2), while either of them passes through zero. q [B, h, n,
// d, 2], k [B, h, m, d, 2], s [B, h, n, m]. `reversed`: token i has the position of token n - 1 - i, as the classifier
// of iclr-complex-order/complex-order (TEXT CLASSIFICATION/Transformer) counts.
//
// Hermitian scores of f(m) and f(n) of equal frequencies depend on m - n. Bilinear ones, which that code has
// (attention_complex.py), depend on m + n: two tokens that move together change them.
//
// Special values: the gradient of the modulus at exactly 0, where it has none, is 0 (algorithms/modulus.hpp); in the
// public code it is NaN, where a query or key is zero. NaN reaches the pair, or the scores, that it enters.
// Gradients: that of w is m times that of phi. Law: an angle w m + phi off by (2 |w m| + |phi|) u, of an m that the
// format holds; cosine and sine also as sums of products (addition theorem).
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/algorithms/frequencies.hpp"
#include "reference/algorithms/modulus.hpp"
#include "reference/algorithms/sinusoidal_columns.hpp"
#include "reference/kinds/relative_scores.hpp"

namespace assay::reference::encodings {

/// A query or a key: its real and imaginary parts, `width` of each.
template <class R>
struct complex_row {
  using number = R;
  const R *re, *im;
  std::size_t width;
};

/// cos or sin of turned + phase. By the addition theorem it is a sum of two products of cosines and sines of the two.
template <class R>
R wave_of(waveform function, const R& turned, const R& phase) {
  const R angle = turned + phase;
  const double size = 3.0 * std::fabs(to_double(turned)) + std::fabs(to_double(phase));
  if (function == waveform::sine) return or_sum_of_products(sin(angle), std::min(1.0, size));
  return or_sum_of_products(cos(angle), size == 0.0 ? 0.0 : 1.0);
}
template <carries_derivatives D>
D wave_of(waveform function, const D& turned, const D& phase) {
  const bool is_sine = function == waveform::sine;
  return D::made(wave_of(function, turned.number, phase.number), D::by(turned + phase, [&] {
                   const auto other = wave_of(is_sine ? waveform::cosine : waveform::sine, turned.number, phase.number);
                   return is_sine ? other : -other;
                 }));
}

template <class R>
R hermitian_product(const complex_row<R>& q, const complex_row<R>& k) {
  return product_of(q.re, k.re, q.width) + product_of(q.im, k.im, q.width);
}
/// The real and the imaginary part of sum q k.
template <class R>
std::pair<R, R> bilinear_product(const complex_row<R>& q, const complex_row<R>& k) {
  return {product_of(q.re, k.re, q.width) - product_of(q.im, k.im, q.width),
          product_of(q.re, k.im, q.width) + product_of(q.im, k.re, q.width)};
}
template <class R>
R product_of_rows(bool bilinear, const complex_row<R>& q, const complex_row<R>& k) {
  if (!bilinear) return hermitian_product(q, k);
  const auto [re, im] = bilinear_product(q, k);
  return modulus_of(re, im);
}

/// Of words whose frequencies are no larger than 1, as mild ones are: errors grow with the angle.
inline const core::error_growth with_position_of_mild_words{
    .quantity = core::with_position.quantity, .at = core::with_position.at, .of_mild_inputs = true};

struct complex_order {
  static constexpr std::string_view name = "complex_order";
  static core::encoding_summary summary() {
    return {.what = "complex-valued word embeddings that turn with the position",
            .formula = "f(m) = a exp(i (w m + phi)), s_ij = Re(q_i . conj(k_j)) / sqrt(d)",
            .sources = {{"Wang et al. 2020", "https://arxiv.org/abs/1912.12333"}}};
  }

  /// What of an embedding has a format of its own, in the order of its stages.
  enum class stage { angle, product };

  /// The steps that variants replace.
  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    /// Of the token whose position token i of n has.
    recipe_step<R, std::size_t(std::size_t i, std::size_t n, bool reversed)> place =
        [](std::size_t i, std::size_t n, bool reversed) { return reversed ? n - 1 - i : i; };
    recipe_step<R, R(double)> position = from_integer<R>;
    recipe_step<R, R(waveform function, const R& turned, const R& phase)> wave = wave_of<R>;
    recipe_step<R, R(bool bilinear, const complex_row<R>& q, const complex_row<R>& k)> product = product_of_rows<R>;
    recipe_step<R, R(std::size_t width, std::size_t heads, std::size_t terms)> factor = factor_of_scores<R>;
  };

  template <class R>
  static std::vector<operation_record<R, recipe<R>>> records() {
    return {{.declaration = embed_declaration(),
             .algorithms = one_algorithm,
             .forward = embed<R>,
             .vjp = derived_vjp<complex_order, R>,
             .jvp = not_offered},
            query_rows_record<score_rows, R>(scores_declaration())};
  }

 private:
  static core::operation embed_declaration();
  static core::operation scores_declaration();
  template <class R>
  static fields<R> embed(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  struct score_rows;
};

inline core::operation complex_order::embed_declaration() {
  const auto of_words = [](const char* called, const char* meaning) {
    return core::tensor_declaration{.name = called, .axes = {"B", "n", "d"}, .meaning = meaning};
  };
  return {
      .name = "complex_order/embed",
      .source = "Wang et al. 2020, arXiv 1912.12333",
      .inputs = {of_words("amplitude", "a"), of_words("frequency", "w, radians a position"), of_words("phase", "phi"),
                 core::integers("position", {"B", "n"}, "positions m", {-0x1p31, 0x1p31}, core::input_role::position)},
      .outputs = {{.name = "f",
                   .axes = {"B", "n", "d", "2"},
                   .meaning = "embeddings, real and imaginary part",
                   .scale = core::error_scale::by_row}},
      .attributes = {flag("reversed", false, "token i has the position of token n - 1 - i")},
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
  op.attributes = {choice("product", {"hermitian", "bilinear"},
                          "the real part of <q, k>, or the modulus of the sum of q k, which conjugates nothing")};
  op.named_only = true;
  return op;
}

template <class R>
fields<R> complex_order::embed(const arguments<R>& call, const recipe<R>& how) {
  const field<R>&amplitude = call["amplitude"], &frequency = call["frequency"], &phase = call["phase"];
  const auto& position = call.integers.at("position").values.storage();
  const std::size_t n = amplitude.shape(1), d = amplitude.shape(2);
  const bool reversed = call.template setting<bool>("reversed");
  field<R> f = make_field<R>({amplitude.shape(0), n, d, 2});
  for (std::size_t k = 0; k < amplitude.size(); ++k) {
    const std::size_t token = k / d % n, row = k / d - token;
    const R m = in_stage<R>(stage::angle, [&] { return how.position(position[row + how.place(token, n, reversed)]); });
    const R turned = in_stage<R>(stage::angle, std::multiplies<>(), m, frequency.data()[k]);
    for (const waveform function : {waveform::cosine, waveform::sine}) {
      const R wave = in_stage<R>(
          stage::angle, [&](const R& x, const R& phi) { return how.wave(function, x, phi); }, turned, phase.data()[k]);
      f.data()[2 * k + (function == waveform::sine ? 1 : 0)] = in_stage<R>(
          stage::product, std::multiplies<>(), amplitude.data()[k], taken_by(stage::product, stage::angle, wave));
    }
  }
  return {{"f", std::move(f)}};
}

template <class R>
struct complex_order::score_rows {
  using recipe = complex_order::recipe<R>;
  /// Parts of vectors [B, h, n, d, 2], those of all real parts and of all imaginary ones.
  struct parts {
    std::size_t tokens, width;
    std::vector<R> re, im;
    explicit parts(const field<R>& x) : tokens(x.shape(2)), width(x.shape(3)) {
      for (std::size_t k = 0; k < x.size(); ++k) (k % 2 == 0 ? re : im).push_back(x.data()[k]);
    }
    [[nodiscard]] complex_row<R> row(std::size_t block, std::size_t token) const {
      const std::size_t first = (block * tokens + token) * width;
      return {re.data() + first, im.data() + first, width};
    }
  };
  parts q, k;
  const recipe& how;
  std::size_t heads;
  bool bilinear;

  score_rows(const arguments<R>& call, const recipe& steps)
      : q(call["q"]),
        k(call["k"]),
        how(steps),
        heads(call["q"].shape(1)),
        bilinear(core::chosen<bool>(call.settings, "product", {{"hermitian", false}, {"bilinear", true}})) {}
  [[nodiscard]] std::vector<std::vector<R>> operator()(std::size_t block, std::size_t i) const {
    return scores_of_query<R>([&] {
      const R factor = how.factor(q.width, heads, 1);
      std::vector<R> scores;
      for (std::size_t j = 0; j < k.tokens; ++j)
        scores.push_back(factor * how.product(bilinear, q.row(block, i), k.row(block, j)));
      return scores;
    });
  }
};

}  // namespace assay::reference::encodings
