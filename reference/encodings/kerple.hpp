// Kernelised relative positions (Chi, Fan, Ramadge and Rudnicky, "KERPLE: Kernelized Relative Positional Embedding for
// Length Extrapolation", NeurIPS 2022, arXiv 2205.09921): biases of conditionally positive definite kernels of the
// distance t = |i - j|, with parameters for each head.
//
//   kerple/log              B = -r1 log(1 + r2 t)                         eq. (7), the logarithmic variant
//   kerple/power            B = -r1 t^r2                                  eq. (6), the power variant
//   kerple/log_power        B = -r1 log(1 + r2 t^r3)                      as NVIDIA/NeMo has it
//   kerple/weighted_scores  S' = S exp(-w1 t^w2) - r1 t^r2, S the scores  of the published code
//
// Shapes: parameters [h]; positions of queries [n] and keys [m]; bias [h, n, m]; scores [B, h, n, m].
// `future`: keys after the query are masked, stand at the distance 0 (the lower triangle of the published code, whose
// attention masks them), or at their own distance. Floors and ceilings of parameters are a projection outside.
//
// Special values: at t = 0 the bias is 0, and so is the gradient of an exponent: the limit. A NaN parameter gives NaN
// at every distance, an infinite exponent NaN at t = 0. Law: log1p is of class sequential; log(1 + x), as published,
// loses x beside 1: it is of class linear.
#pragma once

#include <functional>
#include <string_view>

#include "reference/kinds/pair_bias.hpp"

namespace assay::reference::encodings {

struct kerple {
  static constexpr std::string_view name = "kerple";

  /// What of a bias has a format of its own, in the order of stages().
  enum class stage { distance, function, product };

  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    std::function<R(const R& x)> log_of_one_plus = [](const R& x) { return log1p(x); };
  };
  template <class R>
  static recipe<R> algorithm(accuracy_class c) {
    recipe<R> how;
    if (c == accuracy_class::linear) how.log_of_one_plus = [](const R& x) { return log(R(1.0) + x); };
    return how;
  }

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records();

 private:
  template <class R>
  struct pairs;
  template <class R>
  struct log_pairs;
  template <class R>
  struct power_pairs;
  template <class R>
  struct log_power_pairs;
  template <class R>
  struct weighted_pairs;
};

/// What the four have in common.
template <class R>
struct kerple::pairs : future_keys {
  using recipe = kerple::recipe<R>;
  const arguments<R>& call;
  const recipe& how;

  pairs(const arguments<R>& c, const recipe& steps) : future_keys(c.settings), call(c), how(steps) {}
  [[nodiscard]] std::vector<std::size_t> lanes() const { return {call["r1"].size()}; }

  /// t^exponent, with the derivative 0 at t = 0.
  static R power_of(double t, const R& exponent) {
    return in_stage<R>(
        stage::distance, [t](const R& e) { return t == 0.0 ? R(0.0) * e : pow(from_integer<R>(t), e); }, exponent);
  }
  /// -r1 log(1 + r2 t).
  R logarithm(const R& r1, const R& r2, const R& t) const {
    const R x = in_stage<R>(
        stage::distance, [](const R& a, const R& b) { return a * b; }, r2, t);
    return negated_product(r1, in_stage<R>(stage::function, how.log_of_one_plus, x));
  }
  static R negated_product(const R& x, const R& y) {
    return in_stage<R>(
        stage::product, [](const R& a, const R& b) { return -(a * b); }, x, y);
  }
};

template <class R>
struct kerple::log_pairs : pairs<R> {
  using pairs<R>::pairs;
  void operator()(const key_of_query& at, R* bias) const {
    const R t = in_stage<R>(stage::distance, [&] { return from_integer<R>(at.distance); });
    for (std::size_t h = 0; h < this->call["r1"].size(); ++h)
      bias[h] = this->logarithm(this->call["r1"](h), this->call["r2"](h), t);
  }
};

template <class R>
struct kerple::power_pairs : pairs<R> {
  using pairs<R>::pairs;
  void operator()(const key_of_query& at, R* bias) const {
    for (std::size_t h = 0; h < this->call["r1"].size(); ++h)
      bias[h] = this->negated_product(this->call["r1"](h), this->power_of(at.distance, this->call["r2"](h)));
  }
};

template <class R>
struct kerple::log_power_pairs : pairs<R> {
  using pairs<R>::pairs;
  void operator()(const key_of_query& at, R* bias) const {
    for (std::size_t h = 0; h < this->call["r1"].size(); ++h)
      bias[h] =
          this->logarithm(this->call["r1"](h), this->call["r2"](h), this->power_of(at.distance, this->call["r3"](h)));
  }
};

template <class R>
struct kerple::weighted_pairs : pairs<R> {
  using pairs<R>::pairs;
  [[nodiscard]] std::vector<std::size_t> lanes() const { return {this->call["s"].shape(0), this->call["s"].shape(1)}; }
  void operator()(const key_of_query& at, R* scores) const {
    const field<R>& s = this->call["s"];
    for (std::size_t b = 0; b < s.shape(0); ++b)
      for (std::size_t h = 0; h < s.shape(1); ++h) {
        const auto power = [&](const char* factor, const char* exponent) {
          return this->negated_product(this->call[factor](h), this->power_of(at.distance, this->call[exponent](h)));
        };
        const R weight = in_stage<R>(
            stage::function, [](const R& x) { return exp(x); }, power("w1", "w2"));
        scores[b * s.shape(1) + h] = in_stage<R>(
            stage::product, [](const R& x, const R& w, const R& added) { return x * w + added; }, s(b, h, at.i, at.j),
            weight, power("r1", "r2"));
      }
  }
};

template <class R>
std::vector<kerple::record<R>> kerple::records() {
  constexpr const char* source = "Chi et al. 2022, arXiv 2205.09921, eqs. (6) and (7)";
  const std::vector<core::stage_declaration> stages{{.name = "distance", .meaning = "t, its power and r2 t"},
                                                    {.name = "function", .meaning = "the logarithm or exponential"},
                                                    {.name = "product", .meaning = "the product with r1, and sums"}};
  const auto factor = [](const char* called, const char* meaning) {
    return core::parameter(called, {"h"}, meaning, {.low = 0.0});
  };
  const auto exponent = [](const char* called, const char* meaning) {
    return core::parameter(called, {"h"}, meaning, {.low = 0.0, .high = 2.0});
  };
  const auto of = [&](const char* called, std::vector<core::tensor_declaration> parameters) -> core::operation {
    return {.name = called,
            .source = source,
            .inputs = with_pair_positions(std::move(parameters)),
            .outputs = {pair_bias_output(core::error_scale::relative)},  // a product, and nothing cancels
            .attributes = {future_keys::declared()},
            .stages = stages,
            .independent = {"h", "n", "m"}};
  };
  core::operation weighted = of("kerple/weighted_scores", {{.name = "s",
                                                            .axes = {"B", "h", "n", "m"},
                                                            .meaning = "scores before the bias",
                                                            .role = core::input_role::logit},
                                                           factor("w1", "rate of the weight"),
                                                           exponent("w2", "exponent of the weight"),
                                                           factor("r1", "factor"),
                                                           exponent("r2", "exponent")});
  weighted.outputs = {{.name = "scores", .axes = {"B", "h", "n", "m"}, .meaning = "weighted and biased scores"}};
  weighted.independent.push_back("B");
  const algorithm_list logarithms{accuracy_class::sequential, accuracy_class::linear};
  return {pair_bias_record<log_pairs, R>(
              of("kerple/log", {factor("r1", "factor"), factor("r2", "scale of the distance")}), logarithms),
          pair_bias_record<power_pairs, R>(of("kerple/power", {factor("r1", "factor"), exponent("r2", "exponent")})),
          pair_bias_record<log_power_pairs, R>(
              of("kerple/log_power",
                 {factor("r1", "factor"), factor("r2", "scale of the power"), exponent("r3", "exponent")}),
              logarithms),
          pair_bias_record<weighted_pairs, R>(std::move(weighted))};
}

}  // namespace assay::reference::encodings
