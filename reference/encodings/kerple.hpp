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
// Special values: at t = 0 the power is 0, and so is the gradient of an exponent: the limit. Of the exponent 0 it is 1
// as IEEE 754, PyTorch and JAX have it, and the limit 0 is right, too. A NaN parameter gives NaN at every distance, an
// infinite exponent NaN at t = 0. Law: log1p is of class sequential; log(1 + x), as published, loses x beside 1: it is
// of class linear.
#pragma once

#include <string_view>

#include "reference/algorithms/kinks.hpp"
#include "reference/kinds/pair_bias.hpp"

namespace assay::reference::encodings {

struct kerple {
  static constexpr std::string_view name = "kerple";
  static core::encoding_summary summary() {
    return {.what = "biases by kernels of the distance",
            .formula = "B_ij = -r1 log(1 + r2 |i - j|)",
            .sources = {{"Chi et al. 2022", "https://arxiv.org/abs/2205.09921"}}};
  }

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
  enum class form { log, power, log_power, weighted_scores };
  static core::operation declared(const char* called, std::vector<core::tensor_declaration> inputs);
  static core::operation declaration(form of);

  /// What of a bias has a format of its own.
  enum class stage { distance, function, product };

  template <class R>
  static bool is_zero_to_zero(const head_of_pair<R>& p, const char* exponent) {
    return p.at.distance == 0.0 && to_double(p[exponent]) == 0.0;
  }
  /// x, of which nothing is right as well.
  template <class R>
  static R or_nothing(const R& x) {
    return x * right_within(1.0, R(1.0));
  }
  /// t^exponent, with the derivative 0 at t = 0.
  template <class R>
  static R power(const head_of_pair<R>& p, const char* exponent) {
    const double t = p.at.distance;
    const bool is_one = is_zero_to_zero(p, exponent);
    const auto of_zero = [is_one](const R& e) { return R(is_one ? 1.0 : 0.0) + R(0.0) * e; };
    return in_stage<R>(
        stage::distance, [&](const R& e) { return t == 0.0 ? of_zero(e) : pow(from_integer<R>(t), e); }, p[exponent]);
  }
  template <class R>
  static R less_product(const R& x, const R& y) {
    return in_stage<R>(
        stage::product, [](const R& a, const R& b) { return -(a * b); }, x, y);
  }
  /// -r1 log(1 + r2 t)
  template <class R>
  static R logarithm(const head_of_pair<R>& p, const R& t, const recipe<R>& how) {
    const R x = in_stage<R>(stage::distance, std::multiplies<>(), p["r2"], t);
    return less_product(p["r1"], in_stage<R>(stage::function, how.log_of_one_plus, x));
  }

  struct log_bias {
    template <class R>
    static R of(const head_of_pair<R>& p, const recipe<R>& how) {
      const R t = in_stage<R>(stage::distance, [&] { return from_integer<R>(p.at.distance); });
      return logarithm(p, t, how);
    }
  };
  struct power_bias {
    template <class R>
    static R of(const head_of_pair<R>& p, const recipe<R>&) {
      const R bias = less_product(p["r1"], power(p, "r2"));
      return is_zero_to_zero(p, "r2") ? in_stage<R>(stage::product, or_nothing<R>, bias) : bias;
    }
  };
  struct log_power_bias {
    template <class R>
    static R of(const head_of_pair<R>& p, const recipe<R>& how) {
      const R bias = logarithm(p, power(p, "r3"), how);
      return is_zero_to_zero(p, "r3") ? in_stage<R>(stage::product, or_nothing<R>, bias) : bias;
    }
  };
  struct weighted_score {
    template <class R>
    static R of(const head_of_pair<R>& p, const recipe<R>& how) {
      R exponent = less_product(p["w1"], power(p, "w2"));
      if (is_zero_to_zero(p, "w2")) exponent = in_stage<R>(stage::product, or_nothing<R>, exponent);
      const R bias = power_bias::of(p, how);
      const R weight = in_stage<R>(
          stage::function, [](const R& x) { return exp(x); }, exponent);
      return in_stage<R>(
          stage::product, [](const R& s, const R& w, const R& b) { return s * w + b; }, p["s"], weight, bias);
    }
  };
  template <class R>
  using log_pairs = pairs_by_head<kerple, log_bias, R>;
  template <class R>
  using power_pairs = pairs_by_head<kerple, power_bias, R>;
  template <class R>
  using log_power_pairs = pairs_by_head<kerple, log_power_bias, R>;
  template <class R>
  using weighted_pairs = pairs_by_head<kerple, weighted_score, R>;
};

inline core::operation kerple::declared(const char* called, std::vector<core::tensor_declaration> inputs) {
  return {.name = called,
          .source = "Chi et al. 2022, arXiv 2205.09921, eqs. (6) and (7)",
          .inputs = with_pair_positions(std::move(inputs)),
          .outputs = {pair_bias_output(core::error_scale::relative)},  // a product, and nothing cancels
          .attributes = {future_keys::declared()},
          .stages = {{.name = "distance", .meaning = "t, its power and r2 t"},
                     {.name = "function", .meaning = "the logarithm or exponential"},
                     {.name = "product", .meaning = "the product with r1, and sums"}},
          .independent = {"h", "n", "m"}};
}

inline core::operation kerple::declaration(form of) {
  const core::tensor_declaration r1 = core::parameter("r1", {"h"}, "factor", {.low = 0.0}),
                                 r2 = core::parameter("r2", {"h"}, "scale of the distance", {.low = 0.0});
  const auto exponent = [](const char* called) {
    return core::parameter(called, {"h"}, "exponent of the distance", {.low = 0.0, .high = 2.0});
  };
  if (of == form::log) return declared("kerple/log", {r1, r2});
  if (of == form::power) return declared("kerple/power", {r1, exponent("r2")});
  if (of == form::log_power) return declared("kerple/log_power", {r1, r2, exponent("r3")});
  core::operation weighted =
      declared("kerple/weighted_scores",
               {core::tensor_declaration{.name = "s",
                                         .axes = {"B", "h", "n", "m"},
                                         .meaning = "scores before the bias",
                                         .role = core::input_role::logit},
                core::parameter("w1", {"h"}, "rate of the weight", {.low = 0.0}), exponent("w2"), r1, exponent("r2")});
  weighted.outputs = {{.name = "scores", .axes = {"B", "h", "n", "m"}, .meaning = "weighted and biased scores"}};
  weighted.independent.push_back("B");
  return weighted;
}

template <class R>
std::vector<kerple::record<R>> kerple::records() {
  const algorithm_list logarithms{accuracy_class::sequential, accuracy_class::linear};
  return {pair_bias_record<log_pairs, R>(declaration(form::log), logarithms),
          pair_bias_record<power_pairs, R>(declaration(form::power)),
          pair_bias_record<log_power_pairs, R>(declaration(form::log_power), logarithms),
          pair_bias_record<weighted_pairs, R>(declaration(form::weighted_scores))};
}

}  // namespace assay::reference::encodings
