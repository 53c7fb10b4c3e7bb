// DAPE, data-adaptive position encoding (Zheng et al., "DAPE: Data-Adaptive Positional Encoding for Length
// Extrapolation", NeurIPS 2024, arXiv 2405.14722, first called CAPE; "DAPE V2", arXiv 2410.04798): a network takes the
// scores s and the biases of all heads at a pair, and its output is added to the logits,
//
//   residual  a = s + bias + f(s, bias)    the published code, chuanyang-Zheng/DAPE
//   plain     a = s + f(s, bias)           as the paper is cited
//   f(s, bias)_hij = sum_ut w2_hut y_u(i, j + t) + c2_h
//   y_u(i, j) = leaky(sum_ct w1_uct x_c(i, j + t) + c1_u),   x = [s; bias]
//
// Here i is a query and j a key, u runs over the w hidden units, c over the 2h elements of x, and t from -(k - 1) / 2
// to (k - 1) / 2. Shapes: s, a [B, h, n, m]; bias [h, n, m]; w1 [w, 2h, k]; c1 [w]; w2 [h, w, k]; c2 [h]. The setting
// `kernel` is k. If it is 1, both layers see the pair alone. If it is larger (V2), they see k keys around the pair: the
// convolutions run along keys, with zeros before the first key and after the last one. leaky(y) = y where y > 0, else
// `slope` times y.
//
// Special values: an element whose bias is -inf is masked: its logit is -inf, and its score and bias count as zeros in
// every sum. Hidden units exist at masked keys as well, where other heads and neighbours feed them. A NaN reaches all
// heads of the pairs that see it. Gradients: where a hidden unit is 0, either slope is right. The cotangent of a masked
// element belongs to a constant, and masked scores and biases have the gradient 0.
#pragma once

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

  /// The parts of a logit that have a format of their own, in the order of stages().
  enum class stage { mlp, accumulation };

  using traced = formula::traced;
  using truth = formula::traced_truth;
  using index = formula::traced_integer;
  /// The steps that variants replace.
  struct scheme : recorded_scheme<scheme> {
    /// The activation of the hidden units. `vanishes`: the slope below 0 is known to be 0.
    std::function<traced(const traced& y, const traced& slope, bool vanishes)> activation = leaky_relu;
    /// Whether the network takes zeros for the score and the bias of query i and key j.
    std::function<truth(const index& i, const index& j, const truth& masked)> hides =
        [](const index&, const index&, const truth& masked) { return masked; };
  };
  static std::vector<recorded_formula<scheme>> formulas() { return {{declaration(), recorded}}; }

 private:
  static core::operation declaration();
  static formula::program recorded(const scheme& steps, const formula::program_sizes& call);
  static traced layer(const traced& x, const traced& weights, const traced& biases);
  static traced sum_of(const traced& score, const traced& pair_term, const traced& network_term);
};

/// A convolution along keys of x [B, n, m, c] with weights [u, c, k] and biases [u]: [B, n, m, u]. There are zeros
/// before the first key and after the last one.
inline dape::traced dape::layer(const traced& x, const traced& weights, const traced& biases) {
  const core::shape shape = shape_of(x), shape_of_weights = shape_of(weights);
  const std::size_t rows = shape[0], n = shape[1], m = shape[2], units = shape_of_weights[0],
                    taps = shape_of_weights[2];
  const traced zeros = broadcast(traced(0.0), {rows, n, taps / 2, shape[3]}),
               padded = formula::joined({zeros, x, zeros}, 2);
  std::vector<traced> seen;
  for (std::size_t tap = 0; tap < taps; ++tap) seen.push_back(between(padded, 2, tap, tap + m));
  seen.push_back(broadcast(traced(1.0), {rows, n, m, 1}));
  const traced by_tap = reshaped(transposed(weights, {0, 2, 1}), {units, taps * shape[3]});
  return formula::contracted(formula::joined({by_tap, reshaped(biases, {units, 1})}, 1), formula::joined(seen, 3),
                             "uc,bnmc->bnmu");
}

/// The sum of three terms; the allowance covers any order of the two additions.
inline dape::traced dape::sum_of(const traced& score, const traced& pair_term, const traced& network_term) {
  return covering(covering((score + pair_term) + network_term, [&] { return score + (pair_term + network_term); }),
                  [&] { return (score + network_term) + pair_term; });
}

inline formula::program dape::recorded(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const std::size_t n = in.size("n"), m = in.size("m");
  const traced s = in["s"], bias = in["bias"], zero(0.0), nothing(-std::numeric_limits<double>::infinity());
  const truth masked = equal(bias, nothing);
  const truth unseen = steps.hides(reshaped(formula::counted(n), {n, 1}), formula::counted(m), masked);
  const traced x = transposed(
      formula::joined({either(unseen, zero, s), broadcast(either(unseen, zero, bias), shape_of(s))}, 1), {0, 2, 3, 1});
  return in.finish(in_stage<traced>(stage::mlp, [&] {
    const bool vanishes = in.setting<double>("slope") == 0.0;
    const traced hidden = steps.activation(layer(x, in["w1"], in["c1"]), in.number("slope"), vanishes);
    const traced f = transposed(layer(hidden, in["w2"], in["c2"]), {0, 3, 1, 2});
    const bool residual = core::chosen<bool>(call.settings, "form", {{"residual", true}, {"plain", false}});
    return either(masked, nothing, residual ? sum_of(s, bias, f) : s + f);
  }));
}

inline core::operation dape::declaration() {
  const auto pair_input = [](const char* called, std::vector<std::string> axes, const char* meaning) {
    return core::tensor_declaration{
        .name = called, .axes = std::move(axes), .meaning = meaning, .role = core::input_role::logit};
  };
  core::tensor_declaration bias = pair_input("bias", {"h", "n", "m"}, "bias of each head; -inf where it is masked");
  bias.domain.minus_infinity = true;
  return {.name = "dape/logits",
          .source = "Zheng et al. 2024, arXiv 2405.14722, and V2, arXiv 2410.04798",
          .inputs = {pair_input("s", {"B", "h", "n", "m"}, "scores of queries and keys"), bias,
                     core::parameter("w1", {"w", "2h", "k"}, "weights of the hidden layer: of scores, then of biases"),
                     core::parameter("c1", {"w"}, "its biases"),
                     core::parameter("w2", {"h", "w", "k"}, "weights of the heads"),
                     core::parameter("c2", {"h"}, "their biases")},
          .outputs = {{.name = "a", .axes = {"B", "h", "n", "m"}, .meaning = "logits"}},
          .attributes = {choice("form", {"residual", "plain"},
                                "what the logits are: s + bias + f or s + f, where f is the output of the network"),
                         real("slope", {0.01, 0.0, 0.25}, {0.0, 1.0}, "slope of the hidden units below 0"),
                         integer("kernel", {1, 3}, {1, 63}, "how many keys side by side a layer sees; odd", "k")},
          .stages = {{.name = "mlp", .meaning = "hidden units, what the network gives, and the logits", .narrow = true},
                     {.name = std::string(core::accumulation), .meaning = "the sums of the network"}},
          .independent = {"B", "n"},
          .conflict = [](const core::attributes& settings, const core::axis_sizes&) -> std::string {
            return core::setting<std::int64_t>(settings, "kernel") % 2 == 1 ? "" : "attribute 'kernel' must be odd";
          }};
}

}  // namespace assay::reference::encodings
