// DAPE, data-adaptive position encoding (Zheng et al., "DAPE: Data-Adaptive Positional Encoding for Length
// Extrapolation", NeurIPS 2024, arXiv 2405.14722, first called CAPE; "DAPE V2", arXiv 2410.04798): a network takes the
// scores s and the biases of all heads at a pair, and what it gives is added to the logits,
//
//   residual  a = s + bias + f(s, bias)    the published code, chuanyang-Zheng/DAPE
//   plain     a = s + f(s, bias)           as the paper is cited
//   f(s, bias)_hj = sum_ut w2_hut y_u(j + t) + c2_h,   y_u(j) = leaky(sum_ct w1_uct x_c(j + t) + c1_u),   x = [s; bias]
//
// Shapes: s, a [B, h, n, m]; bias [h, n, m]; w1 [w, 2h, k]; c1 [w]; w2 [h, w, k]; c2 [h]. `kernel`: both layers see the
// pair alone (k = 1), or k keys around it: V2, whose convolutions run along keys and find zeros before the first and
// behind the last one. leaky(y) = y where y > 0, else `slope` times y.
//
// Special values: an element whose bias is -inf is masked: its logit is -inf, and its score and bias enter no sum, as
// zeros do. Hidden units stand at masked keys as well, where other heads and neighbours feed them. A NaN reaches all
// heads of the pairs that see it. Gradients: where a hidden unit is 0 either slope is right; the cotangent of a masked
// element belongs to a constant, and masked scores and biases have the gradient 0.
#pragma once

#include <limits>
#include <string_view>

#include "reference/algorithms/kinks.hpp"
#include "reference/algorithms/settings.hpp"
#include "reference/kinds/pair_bias.hpp"

namespace assay::reference::encodings {

struct dape {
  static constexpr std::string_view name = "dape";
  static core::encoding_summary summary() {
    return {.what = "logits by a network that takes scores and biases of all heads",
            .formula = "a_ij = s_ij + bias_ij + f(s_ij, bias_ij)",
            .sources = {{"Zheng et al. 2024", "https://arxiv.org/abs/2405.14722"}},
            .also = {{"CAPE", "dape/logits, under its first name"}, {"DAPE V2", "`kernel` of dape/logits"}}};
  }

  /// What of a logit has a format of its own, in the order of stages().
  enum class stage { mlp, accumulation };

  /// The steps that variants replace.
  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    recipe_step<R, R(const R& y, const R& slope)> activation = leaky_relu<R>;
    /// Whether the network does not see an element of query i and key j.
    recipe_step<R, bool(std::size_t i, std::size_t j, bool masked)> hides = [](std::size_t, std::size_t, bool masked) {
      return masked;
    };
  };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    return {pair_bias_record<pairs, R>(declaration())};
  }

 private:
  static core::operation declaration();
  template <class R>
  struct pairs;
};

template <class R>
struct dape::pairs {
  using recipe = dape::recipe<R>;
  const recipe& how;
  const field<R>&s, &bias, &w1, &c1, &w2, &c2;
  bool residual;
  R slope;
  std::size_t heads, keys, reach;  ///< reach: so many keys on either side of one

  pairs(const arguments<R>& call, const recipe& steps)
      : how(steps),
        s(call["s"]),
        bias(call["bias"]),
        w1(call["w1"]),
        c1(call["c1"]),
        w2(call["w2"]),
        c2(call["c2"]),
        residual(core::chosen<bool>(call.settings, "form", {{"residual", true}, {"plain", false}})),
        slope(from_setting<R>(call.template setting<double>("slope"))),
        heads(c2.size()),
        keys(s.shape(3)),
        reach(w1.shape(2) / 2) {}
  [[nodiscard]] std::vector<std::size_t> lanes() const { return {s.shape(0), heads}; }
  /// Elements are masked head by head.
  [[nodiscard]] std::optional<double> distance(double, double) const { return 0.0; }

  /// visit(tap of the kernel, the key that it sees)
  template <class Visit>
  void each_tap(std::size_t j, Visit visit) const {
    for (std::size_t tap = 0; tap <= 2 * reach; ++tap)
      if (j + tap >= reach && j + tap - reach < keys) visit(tap, j + tap - reach);
  }
  R hidden(std::size_t unit, std::size_t b, std::size_t i, std::size_t j) const {
    accumulator<R> sum;
    each_tap(j, [&](std::size_t tap, std::size_t key) {
      for (std::size_t h = 0; h < heads; ++h) {
        if (how.hides(i, key, is_minus_infinity(bias(h, i, key)))) continue;
        sum.add_product(w1(unit, h, tap), s(b, h, i, key));
        sum.add_product(w1(unit, heads + h, tap), bias(h, i, key));
      }
    });
    sum.add(c1(unit));
    return in_stage<R>(
        stage::mlp, [&](const accumulator<R>& y, const R& below) { return how.activation(y.total(), below); }, sum,
        slope);
  }
  /// Two additions, in any order.
  static R sum_of(const R& score, const R& of_pair, const R& of_network) {
    return covering(covering((score + of_pair) + of_network, [&] { return score + (of_pair + of_network); }),
                    [&] { return (score + of_network) + of_pair; });
  }
  void operator()(const key_of_query& at, R* a) const {
    const std::size_t i = at.i, j = at.j;
    std::vector<R> y(w1.shape(2) * c1.size());
    for (std::size_t b = 0; b < s.shape(0); ++b) {
      each_tap(j, [&](std::size_t tap, std::size_t key) {
        for (std::size_t u = 0; u < c1.size(); ++u) y[tap * c1.size() + u] = hidden(u, b, i, key);
      });
      for (std::size_t h = 0; h < heads; ++h, ++a) {
        *a = R(-std::numeric_limits<double>::infinity());
        if (is_minus_infinity(bias(h, i, j))) continue;
        accumulator<R> sum;
        each_tap(j, [&](std::size_t tap, std::size_t) {
          for (std::size_t u = 0; u < c1.size(); ++u) sum.add_product(w2(h, u, tap), y[tap * c1.size() + u]);
        });
        sum.add(c2(h));
        const R f = total_in(stage::mlp, sum);
        *a = residual ? in_stage<R>(stage::mlp, sum_of, s(b, h, i, j), bias(h, i, j), f)
                      : in_stage<R>(stage::mlp, std::plus<>(), s(b, h, i, j), f);
      }
    }
  }
};

inline core::operation dape::declaration() {
  const auto logits = [](const char* called, std::vector<std::string> axes, const char* meaning) {
    return core::tensor_declaration{
        .name = called, .axes = std::move(axes), .meaning = meaning, .role = core::input_role::logit};
  };
  core::tensor_declaration bias = logits("bias", {"h", "n", "m"}, "bias of each head; -inf where it is masked");
  bias.domain.minus_infinity = true;
  return {.name = "dape/logits",
          .source = "Zheng et al. 2024, arXiv 2405.14722, and V2, arXiv 2410.04798",
          .inputs = {logits("s", {"B", "h", "n", "m"}, "scores of queries and keys"), bias,
                     core::parameter("w1", {"w", "2h", "k"}, "weights of the hidden layer: of scores, then of biases"),
                     core::parameter("c1", {"w"}, "its biases"),
                     core::parameter("w2", {"h", "w", "k"}, "weights of the heads"),
                     core::parameter("c2", {"h"}, "their biases")},
          .outputs = {{.name = "a", .axes = {"B", "h", "n", "m"}, .meaning = "logits"}},
          .attributes = {choice("form", {"residual", "plain"}, "s + bias + f, or s + f"),
                         real("slope", {0.01, 0.0, 0.25}, {0.0, 1.0}, "of hidden units below 0"),
                         integer("kernel", {1, 3}, {1, 63}, "keys that a layer sees, odd", "k")},
          .stages = {{.name = "mlp", .meaning = "hidden units, what the network gives, and the logits", .narrow = true},
                     {.name = std::string(core::accumulation), .meaning = "the sums of the network"}},
          .independent = {"B", "n"},
          .conflict = [](const core::attributes& settings, const core::axis_sizes&) -> std::string {
            return core::setting<std::int64_t>(settings, "kernel") % 2 == 1 ? "" : "attribute 'kernel' must be odd";
          }};
}

}  // namespace assay::reference::encodings
