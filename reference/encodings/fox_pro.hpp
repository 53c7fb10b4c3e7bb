// The parts of the Pro block of the Forgetting Transformer besides its attention (Lin et al., "Forgetting Transformer:
// Softmax Attention with a Forget Gate", ICLR 2025, arXiv 2503.02130; zhixuan-lin/forgetting-transformer): keys and
// values are shifted, queries, keys and the output are normalised head by head, and the output is gated.
//
//   fox_pro/shift   y_t = sigmoid(a_t) z_{t-1} + sigmoid(-a_t) z_t,  z_t = x_t where the token is visible, else 0
//   fox_pro/norm    y = w x / sqrt(mean of x^2 over a head + epsilon)
//   fox_pro/output  y = w o / sqrt(mean of o^2 over a head + epsilon) sigmoid(g)
//
// Shapes: x, o, g, y [B, n, h, d]; a [B, n, h]; visible [B, n], 0 or 1; w [h, d]. z_0 is the state x0 [B, h, d], 0 at
// the beginning of a sequence, and x_n [B, h, d] the last z: a shift of two taps and no recurrence. `shared`: all heads
// have the weights of the first one, as in the experiments of the paper.
//
// Special values: a = -inf leaves z_t and a = +inf z_{t-1}, as numbers. A hidden token is 0 whatever it holds; any
// other NaN reaches its own row, and the next one. A row of zeros gives 0. Laws: sigmoid(-a) is of class sequential; 1
// - sigmoid(a), as the released code has it, of class linear: it loses exp(-a) beside 1. So do the gradients of both
// gates as automatic differentiation has them, y (1 - y) of y = sigmoid.
#pragma once

#include <string_view>
#include <utility>

#include "reference/accuracy_class.hpp"
#include "reference/algorithms/root_mean_square.hpp"
#include "reference/algorithms/sigmoid_of_autograd.hpp"
#include "reference/derived_vjp.hpp"
#include "reference/kinds/declarations.hpp"

namespace assay::reference::encodings {

/// sigmoid(a) and 1 - sigmoid(a), with the slopes that automatic differentiation has of y = sigmoid(a), or of
/// y = sigmoid(-a): y (1 - y).
template <class R>
weight_pair<R> less_sigmoid(const R& a) {
  if constexpr (carries_derivatives<R>) {
    using N = typename R::underlying;
    const auto slope_by = [](const N& y) { return y * (N(1.0) - y); };
    const N w = sigmoid(a.number), slope = covering(slope_by(w), [&] { return slope_by(sigmoid(-a.number)); });
    return {R::made(w, R::by(a, [&] { return slope; })), R::made(N(1.0) - w, R::by(a, [&] { return -slope; }))};
  } else {
    const R w = sigmoid(a);
    return {w, R(1.0) - w};
  }
}

struct fox_pro {
  static constexpr std::string_view name = "fox_pro";
  static core::encoding_summary summary() {
    return {.what = "the Pro block of FoX: token shift, norm by head, output gate",
            .formula = "y_t = sigmoid(a_t) x_{t-1} + sigmoid(-a_t) x_t, y = w o / sqrt(mean o^2 + epsilon) sigmoid(g)",
            .sources = {{"Lin et al. 2025", "https://arxiv.org/abs/2503.02130"}}};
  }

  /// What of a row, and of a token, has a format of its own, in the order of their declarations.
  enum class stage { norm, output };
  enum class shift_stage { gates, product };

  /// The steps that variants replace.
  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    /// {sigmoid(a), sigmoid(-a)}, of the token before and of the token itself.
    recipe_step<R, weight_pair<R>(const R& a)> taps = [](const R& a) {
      return weight_pair<R>{sigmoid(a), sigmoid(-a)};
    };
    recipe_step<R, R(const R& g)> gate = [](const R& g) { return sigmoid(g); };
    /// A row over the root of the mean of its squares and epsilon.
    recipe_step<R, std::vector<R>(const std::vector<R>& row, double epsilon)> norm = normalised<R>;
  };
  /// The gate of an output is computed in one way: automatic differentiation of y = sigmoid has the law of linear
  /// alone.
  template <class R>
  static recipe<R> algorithm(accuracy_class c) {
    recipe<R> how;
    if (c == accuracy_class::linear) how.taps = less_sigmoid<R>;
    return how;
  }
  template <class R>
  static recipe<R> law(accuracy_class c) {
    recipe<R> how;
    if (c == accuracy_class::linear) {
      how.taps = less_sigmoid<R>;
      how.gate = sigmoid_of_autograd<R>;
    }
    return how;
  }

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    const algorithm_list gated{accuracy_class::sequential, accuracy_class::linear};
    return {record_of_rows<R>(shift_declaration(), gated, shift<R>),
            record_of_rows<R>(norm_declaration(), one_algorithm, norm<false, R>),
            record_of_rows<R>(output_declaration(), gated, norm<true, R>)};
  }

 private:
  static core::operation shift_declaration();
  static core::operation norm_declaration();
  static core::operation output_declaration();
  template <class R>
  static record<R> record_of_rows(core::operation declaration, algorithm_list algorithms,
                                  fields<R> (*forward)(const arguments<R>&, const recipe<R>&)) {
    return {.declaration = std::move(declaration),
            .algorithms = std::move(algorithms),
            .forward = forward,
            .vjp = derived_vjp<fox_pro, R>,
            .jvp = not_offered};
  }
  template <class R>
  static fields<R> shift(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static weight_pair<R> taps_of(const recipe<R>& how, const R& a) {
    const std::vector<R> both = in_stage<R>(
        shift_stage::gates,
        [&](const R& logit) {
          const weight_pair<R> taps = how.taps(logit);
          return std::vector<R>{taps.w, taps.v};
        },
        a);
    return {both[0], both[1]};
  }
  template <bool gated, class R>
  static fields<R> norm(const arguments<R>& call, const recipe<R>& how);

  static constexpr const char* source = "Lin et al. 2025, arXiv 2503.02130, section 3, and its released code";
};

inline core::operation fox_pro::shift_declaration() {
  return {.name = "fox_pro/shift",
          .source = source,
          .inputs = {{.name = "x", .axes = {"B", "n", "h", "d"}, .meaning = "keys or values"},
                     {.name = "a",
                      .axes = {"B", "n", "h"},
                      .meaning = "logits of the weight of the token before",
                      .domain = {.minus_infinity = true},
                      .role = core::input_role::logit},
                     {.name = "x0", .axes = {"B", "h", "d"}, .meaning = "the token before the first, unshifted"},
                     core::integers("visible", {"B", "n"}, "0: the token is padding, and counts as zeros", {0.0, 1.0},
                                    core::input_role::value)},
          .outputs = {{.name = "y", .axes = {"B", "n", "h", "d"}, .meaning = "shifted keys or values"},
                      {.name = "x_n", .axes = {"B", "h", "d"}, .meaning = "the last token, unshifted"}},
          // Eager code rounds what reaches a token from each of its two uses.
          .stages = {{.name = "gates", .meaning = "sigmoid(a), and 1 less that"},
                     {.name = "product", .meaning = "products with two tokens, and their sum", .narrow = true}},
          .recurrent = core::recurrence{.state_in = "x0", .state_out = "x_n"},
          .independent = {"B", "h"}};
}

inline core::operation fox_pro::norm_declaration() {
  return {
      .name = "fox_pro/norm",
      .source = source,
      // Beyond 2^42 the cube of a reciprocal root, which automatic differentiation forms, is subnormal in f32.
      .inputs = {{.name = "x", .axes = {"B", "n", "h", "d"}, .meaning = "queries or keys", .domain = {-0x1p40, 0x1p40}},
                 core::parameter("w", {"h", "d"}, "weights of each head")},
      .outputs = {{.name = "y",
                   .axes = {"B", "n", "h", "d"},
                   .meaning = "normalised rows",
                   .scale = core::error_scale::by_row}},
      .attributes = {real("epsilon", {1e-6, 1e-5, 1e-3}, {0x1p-126, 1.0}, "added to the mean of the squares"),
                     flag("shared", false, "all heads have the weights of the first one")},
      .stages = {{.name = "norm", .meaning = "the mean of the squares, its root, and the row over it"},
                 {.name = "output", .meaning = "the row times weights and gate", .narrow = true}},
      .independent = {"B", "n"}};
}

inline core::operation fox_pro::output_declaration() {
  core::operation output = norm_declaration();
  output.name = "fox_pro/output";
  output.inputs.front().name = "o", output.inputs.front().meaning = "outputs of attention";
  output.inputs.push_back({.name = "g",
                           .axes = {"B", "n", "h", "d"},
                           .meaning = "logits of the output gate",
                           .domain = {.minus_infinity = true},
                           .role = core::input_role::logit});
  output.outputs.front().meaning = "normalised and gated outputs";
  return output;
}

template <class R>
fields<R> fox_pro::shift(const arguments<R>& call, const recipe<R>& how) {
  const field<R>&x = call["x"], &a = call["a"], &x0 = call["x0"];
  const auto& visible = call.integers.at("visible").values;
  const std::size_t rows = x.shape(0), n = x.shape(1), heads = x.shape(2), d = x.shape(3);
  field<R> y = make_field<R>({rows, n, heads, d}), last = make_field<R>({rows, heads, d});
  for (std::size_t k = 0; k < rows * heads; ++k) {
    const std::size_t b = k / heads, h = k % heads;
    std::vector<R> before(x0.data() + k * d, x0.data() + (k + 1) * d);
    for (std::size_t t = 0; t < n; ++t) {
      const std::size_t token = (b * n + t) * heads + h;
      const auto [back, own] = taps_of(how, a.data()[token]);
      for (std::size_t c = 0; c < d; ++c) {
        const R now = visible(b, t) == 0.0 ? R(0.0) : x.data()[token * d + c];
        accumulator<R> sum;
        sum.add_product(back, before[c]);
        sum.add_product(own, now);
        y.data()[token * d + c] = total_in(shift_stage::product, sum);
        before[c] = now;
      }
    }
    std::move(before.begin(), before.end(), last.data() + k * d);
  }
  return {{"y", std::move(y)}, {"x_n", std::move(last)}};
}

template <bool gated, class R>
fields<R> fox_pro::norm(const arguments<R>& call, const recipe<R>& how) {
  const field<R>&x = call[gated ? "o" : "x"], &w = call["w"];
  const std::size_t heads = x.shape(2), d = x.shape(3);
  const bool shared = call.template setting<bool>("shared");
  const double epsilon = call.template setting<double>("epsilon");
  field<R> y = make_field<R>({x.shape(0), x.shape(1), heads, d});
  for (std::size_t row = 0; row * d < x.size(); ++row) {
    const R* from = x.data() + row * d;
    const R* weights = w.data() + (shared ? 0 : row % heads * d);
    const auto of_row = [&](const std::vector<R>& all) { return how.norm(all, epsilon); };
    const std::vector<R> scaled = in_stage<R>(stage::norm, of_row, std::vector<R>(from, from + d));
    const auto times = [](const R& u, const R& v) { return u * v; };
    for (std::size_t c = 0; c < d; ++c) {
      R& out = y.data()[row * d + c];
      out = taken_by(stage::output, stage::norm, scaled[c]);
      out = in_stage<R>(stage::output, times, out, weights[c]);
      if constexpr (gated) {
        const R gate = in_stage<R>(stage::output, how.gate, call["g"].data()[row * d + c]);
        out = in_stage<R>(stage::output, times, out, gate);
      }
    }
  }
  return {{"y", std::move(y)}};
}

}  // namespace assay::reference::encodings
