// Functional interpolation (Li et al., "Functional Interpolation for Relative Positions Improves Long Context
// Transformers", ICLR 2024, arXiv 2310.04418): a bias that a small network makes of the distance t = i - j, divided by
// the length that the query has seen,
//
//   B_hij = f(x)_h,   x = psi(t) / (psi(max(L, i)) + epsilon),   psi(y) = log(1 + |c y|),   L = |multiplier threshold|
//   f(x)_h = sum_k w2_hk activation(w1_k x + b1_k) + b2_h                                                     section 3
//
// Shapes: c, multiplier [1]; w1, b1 [w]; w2 [h, w]; b2 [h]; positions of queries [n] and keys [m], from 0; bias [h, n,
// m]. The authors published no code: epsilon, the learned multiplier and the activations are those of
// chuanyang-Zheng/DAPE. `normalizer`: the query's position, or the largest distance of its row: the same for causal
// rows that begin at key 0. `future`: keys after the query are masked, stand at the distance 0, or at their own
// distance.
//
// Special values: x is in [0, 1], and 0 at t = 0. Where max(L, i) or c is 0, x is 0 / epsilon; NaN without epsilon.
// Gradients where the formula has a kink: either slope is right of a hidden unit at 0; at L = i the multiplier has half
// of it, and all and none are right, too; 0 of |c| and of |multiplier| at 0.
// Law: log1p is of class sequential; log(1 + y) loses y beside 1: it is of class linear.
#pragma once

#include <algorithm>
#include <string_view>

#include "reference/algorithms/kinks.hpp"
#include "reference/algorithms/settings.hpp"
#include "reference/kinds/pair_bias.hpp"

namespace assay::reference::encodings {

struct fire {
  static constexpr std::string_view name = "fire";
  static core::encoding_summary summary() {
    return {.what = "biases by a network of the distance, as a share of the length",
            .formula = "B_ij = f(psi(i - j) / psi(max(L, i))), psi(y) = log(1 + c y)",
            .sources = {{"Li et al. 2024", "https://arxiv.org/abs/2310.04418"}}};
  }

  /// What of a bias has a format of its own, in the order of stages(). Published code casts x to the dtype of the
  /// scores before the network.
  enum class stage { argument, mlp, accumulation };

  template <class R>
  using recipe = logarithm_recipe<R>;
  template <class R>
  static recipe<R> algorithm(accuracy_class c) {
    return algorithm_of_logarithm<R>(c);
  }

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records();

 private:
  static core::operation declaration();
  template <class R>
  struct pairs;
};

template <class R>
struct fire::pairs : future_keys {
  using recipe = fire::recipe<R>;
  const arguments<R>& call;
  const recipe& how;
  bool leaky;
  std::vector<double> lengths;  ///< of each row: the position of its query, or its largest distance

  pairs(const arguments<R>& c, const recipe& steps)
      : future_keys(c.settings),
        call(c),
        how(steps),
        leaky(core::chosen<bool>(c.settings, "activation", {{"relu", false}, {"leaky_relu", true}})) {
    const bool by_position =
        core::chosen<bool>(c.settings, "normalizer", {{"position", true}, {"largest_distance", false}});
    for (const double query : c.integers.at("query_position").values.storage()) {
      lengths.push_back(by_position ? query : 0.0);
      if (by_position) continue;
      for (const double key : c.integers.at("key_position").values.storage())
        lengths.back() = std::max(lengths.back(), distance(query, key).value_or(0.0));
    }
  }
  [[nodiscard]] std::vector<std::size_t> lanes() const { return {call["b2"].size()}; }

  R argument(const key_of_query& at) const {
    const auto set = [&](const char* name) { return from_setting<R>(call.template setting<double>(name)); };
    const R c = magnitude_of(call["c"](0)), length = from_integer<R>(lengths[at.i]), epsilon = set("epsilon"),
            least = magnitude_of(call["multiplier"](0) * set("threshold"));
    if constexpr (!computes_in_formats<R>) {
      const boost::tribool is_below = less(least, length);
      const bool is_known = !carries_derivatives<R> || !boost::indeterminate(is_below);
      if (at.distance == lengths[at.i] && to_double(epsilon) == 0.0 && to_double(c) != 0.0 && is_known &&
          bool(!less(length, least)))
        return whole_length(at.distance, c, least, bool(!is_below));
    }
    const auto psi = [&](const R& y) { return how.log_of_one_plus(c * y); };
    return quotient_of_any(psi(from_integer<R>(at.distance)), psi(larger_by_halves(length, least)) + epsilon);
  }
  /// psi(t) / psi(max(L, t)) for L <= t: 1 exactly, which no interval of a quotient says; arithmetic divides. At L = t
  /// it moves with L by half of -psi'(t) / psi(t). At t = 0 it is 0 / 0, and so is its derivative.
  static R whole_length(double t, const R& c, const R& least, bool is_tie) {
    if (t == 0.0) return R(t / t) * (c + least);
    if constexpr (carries_derivatives<R>) {
      using N = typename R::underlying;
      const auto slope = [&] {
        const N steepness = c.number, product = steepness * N(t);
        return -(N(0.5) * (steepness / ((N(1.0) + product) * log1p(product))));
      };
      if (is_tie && t > 0.0) return R::made(N(1.0), R::by(least, slope));
    }
    return R(t / t);
  }
  void operator()(const key_of_query& at, R* bias) const {
    const field<R>&w1 = call["w1"], &b1 = call["b1"], &w2 = call["w2"], &b2 = call["b2"];
    const R x = taken_by(stage::mlp, stage::argument, in_stage<R>(stage::argument, [&] { return argument(at); }));
    const auto activated = [&](const accumulator<R>& sum) {
      return leaky_relu(sum.total(), leaky ? R(1.0) / R(100.0) : R(0.0));
    };
    std::vector<R> hidden;
    for (std::size_t k = 0; k < w1.size(); ++k) {
      accumulator<R> sum;
      sum.add_product(w1(k), x);
      sum.add(b1(k));
      hidden.push_back(in_stage<R>(stage::mlp, activated, sum));
    }
    for (std::size_t h = 0; h < b2.size(); ++h) {
      accumulator<R> sum;
      for (std::size_t k = 0; k < hidden.size(); ++k) sum.add_product(w2(h, k), hidden[k]);
      sum.add(b2(h));
      bias[h] = total_in(stage::mlp, sum);
    }
  }
};

inline core::operation fire::declaration() {
  using std::string;
  const auto number = [](const char* called, const char* meaning, double standard,
                         std::vector<core::attribute> values) {
    return core::attribute_declaration{.name = called,
                                       .meaning = meaning,
                                       .standard = standard,
                                       .values = std::move(values),
                                       .low = 0.0,
                                       .high = 0x1p31};
  };
  const auto one_of = [](const char* called, const char* meaning, const char* standard, const char* other) {
    return core::attribute_declaration{
        .name = called, .meaning = meaning, .standard = string(standard), .values = {string(standard), string(other)}};
  };
  return {
      .name = "fire/bias",
      .source = "Li et al. 2024, arXiv 2310.04418, section 3",
      .inputs = with_pair_positions(
          {core::parameter("c", {"1"}, "scale of distances"), core::parameter("multiplier", {"1"}, "of the threshold"),
           core::parameter("w1", {"w"}, "weights of the hidden layer"), core::parameter("b1", {"w"}, "its biases"),
           core::parameter("w2", {"h", "w"}, "weights of the heads"), core::parameter("b2", {"h"}, "their biases")},
          0.0),
      .outputs = {pair_bias_output(core::error_scale::absolute)},
      .attributes = {number("threshold", "L before the multiplier", 512.0, {512.0, 8.0, 64.0, 2048.0}),
                     number("epsilon", "added to psi(max(L, i))", 1e-6, {1e-6, 0.0}),
                     one_of("activation", "of the hidden layer; leaky: 1/100 of what is negative", "relu",
                            "leaky_relu"),
                     one_of("normalizer", "i, or the largest distance of the row", "position", "largest_distance"),
                     future_keys::declared()},
      .stages = {{.name = "argument", .meaning = "psi and x"},
                 {.name = "mlp", .meaning = "x as the network takes it, hidden units and the bias", .narrow = true},
                 {.name = string(core::accumulation), .meaning = "the sums of the network"}},
      .independent = {"h", "n"}};
}

template <class R>
std::vector<fire::record<R>> fire::records() {
  return {pair_bias_record<pairs, R>(declaration(), {accuracy_class::sequential, accuracy_class::linear})};
}

}  // namespace assay::reference::encodings
