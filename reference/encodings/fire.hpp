// Functional interpolation (Li et al., "Functional Interpolation for Relative Positions Improves Long Context
// Transformers", ICLR 2024, arXiv 2310.04418): a bias that a small network computes from the distance t = i - j,
// divided by the length that the query has seen,
//
//   B_hij = f(x)_h,   x = psi(t) / (psi(max(L, i)) + epsilon),   psi(y) = log(1 + |c y|),   L = |multiplier threshold|
//   f(x)_h = sum_k w2_hk activation(w1_k x + b1_k) + b2_h                                                     section 3
//
// Shapes: c, multiplier [1]; w1, b1 [w]; w2 [h, w]; b2 [h]; positions of queries [n] and keys [m], from 0; bias [h, n,
// m]. The authors published no code: epsilon, the learned multiplier and the activations are those of
// chuanyang-Zheng/DAPE. `normalizer`: the query's position, or the largest distance of its row; both are equal for
// causal rows that begin at key 0. `future`: keys after the query are masked, count as the distance 0, or have their
// own distance.
//
// Special values: x is 0 at t = 0, and in [0, 1] for keys up to the query; later keys that have their own distance may
// have x > 1. Where c is 0, or both t and max(L, i) are 0, x is 0 / epsilon; NaN without epsilon.
// Gradients where the formula has a kink: at a hidden unit of 0 either slope is right. At L = i the multiplier has half
// of the gradient, and all and none are right, too. |c| and |multiplier| have the gradient 0 at 0.
// Law: log1p is of class sequential; log(1 + y), which loses y beside 1, is of class linear.
#pragma once

#include "reference/kinds/pair_bias.hpp"

namespace assay::reference::encodings {

struct fire {
  static constexpr std::string_view name = "fire";
  static core::encoding_summary summary() {
    return {.what = "biases by a network of the distance, as a share of the length",
            .formula = "B_ij = f(psi(i - j) / psi(max(L, i))), psi(y) = log(1 + c y)",
            .sources = {{"Li et al. 2024", "https://arxiv.org/abs/2310.04418"}}};
  }

  /// The parts of a bias that have a format of their own, in the order of stages(). Published code casts x to the dtype
  /// of the scores before the network.
  enum class stage { argument, mlp, accumulation };

  using scheme = logarithm_scheme;
  static scheme algorithm(accuracy_class c) { return algorithm_of_logarithm(c); }
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{declaration(), recorded, {accuracy_class::sequential, accuracy_class::linear}}};
  }

 private:
  using traced = formula::traced;
  static core::operation declaration();
  static formula::program recorded(const scheme& steps, const formula::program_sizes& call);
  static traced argument(const recorded_pairs& pairs, const scheme& steps);
  static traced whole_length(const traced& t, const traced& c, const traced& least, const traced& length);
  static traced network(const recorded_pairs& pairs, const traced& x);
};

inline fire::traced fire::argument(const recorded_pairs& pairs, const scheme& steps) {
  const traced t = to_real(pairs.distance()), c = magnitude_of(pairs["c"]), epsilon = pairs.number("epsilon"),
               least = magnitude_of(pairs["multiplier"] * pairs.number("threshold"));
  const bool by_position = pairs.setting<std::string>("normalizer") == "position" || pairs.size("m") == 0;
  const traced length = by_position ? to_real(pairs.query()) : reshaped(largest_along(t, 1), {pairs.size("n"), 1});
  const traced larger_length = larger(length, least);
  const auto psi = [&](const traced& y) { return steps.log_of_one_plus(c * y); };
  const traced share = psi(t) / (psi(larger_length) + epsilon);
  if (!pairs.is_truth() || pairs.setting<double>("epsilon") != 0.0) return share;
  const auto is_whole = equal(t, length) && !equal(c, traced(0.0)) && !less(length, least);
  return either(is_whole, whole_length(t, c, least, larger_length), share);
}

/// psi(t) / psi(max(L, t)) for L <= t: exactly 1, which no interval of a quotient proves. At L = t its derivative
/// in L is half of -psi'(t) / psi(t). At t = 0 it is 0 / 0, and so is its derivative.
inline fire::traced fire::whole_length(const traced& t, const traced& c, const traced& least, const traced& length) {
  const traced zero(0.0), one(1.0), product = c * t;
  const traced slope = detach(c / ((one + product) * log1p(product)));
  const traced undefined =
      traced(std::numeric_limits<double>::quiet_NaN()) * broadcast(c + least, shape_of(product));  // pair by pair
  return either(equal(t, zero), undefined, one - slope * (length - t));
}

inline fire::traced fire::network(const recorded_pairs& pairs, const traced& x) {
  const bool leaky =
      core::chosen<bool>(pairs.setting<std::string>("activation"), {{"relu", false}, {"leaky_relu", true}});
  const std::size_t w = pairs.size("w"), h = pairs.size("h"), n = pairs.size("n"), m = pairs.size("m");
  const auto by_unit = [&](const char* input) { return reshaped(pairs[input], {w}); };
  accumulator<traced> sum;
  sum.add_product(by_unit("w1"), reshaped(x, {n, m, 1}));
  sum.add(by_unit("b1"));
  const traced hidden = leaky_relu(sum.total(), leaky ? traced(1.0) / traced(100.0) : traced(0.0), !leaky);
  // The biases of the heads are weights of a unit that is always 1.
  const traced units = formula::joined({broadcast(hidden, {n, m, w}), broadcast(traced(1.0), {n, m, 1})}, 2);
  const traced weights = formula::joined({pairs["w2"], reshaped(pairs["b2"], {h, 1})}, 1);
  return formula::contracted(weights, units, "hw,nmw->hnm");
}

inline formula::program fire::recorded(const scheme& steps, const formula::program_sizes& call) {
  recorded_pairs pairs(call);
  const traced x = in_stage<traced>(stage::argument, [&] { return argument(pairs, steps); });
  return pairs.finish(in_stage<traced>(
      stage::mlp, [&] { return network(pairs, taken_from(static_cast<std::size_t>(stage::argument), x)); }));
}

inline core::operation fire::declaration() {
  using std::string;
  return pair_operation(
      {.name = "fire/bias",
       .source = "Li et al. 2024, arXiv 2310.04418, section 3",
       .inputs = with_pair_positions(
           {core::parameter("c", {"1"}, "scale of distances"),
            core::parameter("multiplier", {"1"}, "factor of the threshold"),
            core::parameter("w1", {"w"}, "weights of the hidden layer"), core::parameter("b1", {"w"}, "its biases"),
            core::parameter("w2", {"h", "w"}, "weights of the heads"), core::parameter("b2", {"h"}, "their biases")},
           0.0),
       .outputs = {pair_bias_output(core::error_scale::absolute)},
       .attributes =
           {real("threshold", {512.0, 8.0, 64.0, 2048.0}, {0.0, 0x1p31},
                 "L before the multiplier: distances of positions up to L are divided by psi(L)"),
            real("epsilon", {1e-6, 0.0}, {0.0, 0x1p31}, "what is added to the divisor psi(max(L, i))"),
            choice("activation", {"relu", "leaky_relu"}, "what becomes of negative hidden units: 0, or 1/100 of them"),
            choice("normalizer", {"position", "largest_distance"},
                   "what distances are divided by: the position of the query, or the largest distance of its row"),
            future_keys::declared()},
       .stages = {{.name = "argument", .meaning = "psi and x"},
                  {.name = "mlp", .meaning = "x as the network takes it, hidden units and the bias", .narrow = true},
                  {.name = string(core::accumulation), .meaning = "the sums of the network"}},
       .independent = {"h", "n"}});
}

}  // namespace assay::reference::encodings
