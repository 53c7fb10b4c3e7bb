// Kernelised relative positions (Chi, Fan, Ramadge and Rudnicky, "KERPLE: Kernelized Relative Positional Embedding for
// Length Extrapolation", NeurIPS 2022, arXiv 2205.09921): biases from conditionally positive definite kernels of the
// distance t = |i - j|, with parameters for each head.
//
//   kerple/log              B = -r1 log(1 + r2 t)                         eq. (7), the logarithmic variant
//   kerple/power            B = -r1 t^r2                                  eq. (6), the power variant
//   kerple/log_power        B = -r1 log(1 + r2 t^r3)                      as in NVIDIA/NeMo
//   kerple/weighted_scores  S' = S exp(-w1 t^w2) - r1 t^r2, S the scores  as in the published code
//
// Shapes: parameters [h]; positions of queries [n] and keys [m]; bias [h, n, m]; scores [B, h, n, m]. `future`: keys
// after the query are masked, count as the distance 0 (the lower triangle of the published code, whose attention masks
// them), or have their own distance. Floors and ceilings of parameters are a projection outside this operation.
//
// Special values: at t = 0 the power is 0, and so is the gradient of an exponent: the limit. With the exponent 0 it is
// 1, as in IEEE 754, PyTorch and JAX, and the limit 0 is right, too. A NaN parameter gives NaN at every distance; an
// infinite exponent gives NaN at t = 0. Law: log1p is of class sequential; log(1 + x), as published, loses x beside 1
// and is of class linear.
#pragma once

#include <string_view>

#include "reference/kinds/pair_bias.hpp"

namespace assay::reference::encodings {

struct kerple {
  static constexpr std::string_view name = "kerple";
  static core::encoding_summary summary() {
    return {.what = "biases by kernels of the distance",
            .formula = "B_ij = -r1 log(1 + r2 |i - j|)",
            .sources = {{"Chi et al. 2022", "https://arxiv.org/abs/2205.09921"}}};
  }

  using scheme = logarithm_scheme;
  static scheme algorithm(accuracy_class c) { return algorithm_of_logarithm(c); }
  static std::vector<recorded_formula<scheme>> formulas();

 private:
  using traced = formula::traced;
  enum class form { log, power, log_power, weighted_scores };
  static core::operation declared(const char* called, std::vector<core::tensor_declaration> inputs);
  static core::operation declaration(form kind);

  /// The parts of a bias that have a format of their own.
  enum class stage { distance, function, product };

  static traced distance(const recorded_pairs& p) {
    return in_stage<traced>(stage::distance, [&] { return to_real(p.distance()); });
  }
  /// t^e, with the derivative 0 at t = 0.
  static traced power(const traced& t, const traced& e) {
    const traced zero(0.0), power_of_zero = either(equal(e, zero), traced(1.0), zero) + zero * e;
    return either(equal(t, zero), power_of_zero, pow(t, e));
  }
  static traced power(const recorded_pairs& p, const char* exponent) {
    return in_stage<traced>(stage::distance, [&] { return power(to_real(p.distance()), p[exponent]); });
  }
  static traced less_product(const traced& x, const traced& y) {
    return in_stage<traced>(stage::product, [&] { return -(x * y); });
  }
  /// x, where 0 is also right if x contains a power 0^0.
  static traced or_zero(const recorded_pairs& p, const char* exponent, const traced& x) {
    const traced zero(0.0);
    const formula::traced_truth is_zero_to_zero =
        equal(p.distance(), formula::traced_integer::constant(0)) && equal(p[exponent], zero);
    return either(is_zero_to_zero, in_stage<traced>(stage::product, [&] { return right_as_well(x, zero); }), x);
  }
  /// -r1 log(1 + r2 t)
  static traced logarithm(const recorded_pairs& p, const traced& t, const scheme& steps) {
    const traced x = in_stage<traced>(stage::distance, [&] { return p["r2"] * t; });
    return less_product(p["r1"], in_stage<traced>(stage::function, [&] { return steps.log_of_one_plus(x); }));
  }
  static traced power_bias(const recorded_pairs& p) { return or_zero(p, "r2", less_product(p["r1"], power(p, "r2"))); }
  static traced weighted_score(const recorded_pairs& p) {
    const traced exponent = or_zero(p, "w2", less_product(p["w1"], power(p, "w2")));
    const traced bias = power_bias(p), weight = in_stage<traced>(stage::function, [&] { return exp(exponent); });
    return in_stage<traced>(stage::product, [&] { return p["s"] * weight + bias; });
  }
  static traced formula_of(form kind, const recorded_pairs& p, const scheme& steps) {
    if (kind == form::log) return logarithm(p, distance(p), steps);
    if (kind == form::power) return power_bias(p);
    if (kind == form::weighted_scores) return weighted_score(p);
    return or_zero(p, "r3", logarithm(p, power(p, "r3"), steps));
  }
};

inline core::operation kerple::declared(const char* called, std::vector<core::tensor_declaration> inputs) {
  return pair_operation({.name = called,
                         .source = "Chi et al. 2022, arXiv 2205.09921, eqs. (6) and (7)",
                         .inputs = with_pair_positions(std::move(inputs)),
                         .outputs = {pair_bias_output(core::error_scale::relative)},  // a product, so nothing cancels
                         .attributes = {future_keys::declared()},
                         .stages = {{.name = "distance", .meaning = "t, its power and r2 t"},
                                    {.name = "function", .meaning = "the logarithm or exponential"},
                                    {.name = "product", .meaning = "the product with r1, and sums"}},
                         .independent = {"h", "n", "m"}});
}

inline core::operation kerple::declaration(form kind) {
  const core::tensor_declaration r1 = core::parameter("r1", {"h"}, "factor", {.low = 0.0}),
                                 r2 = core::parameter("r2", {"h"}, "scale of the distance", {.low = 0.0});
  const auto exponent = [](const char* called) {
    return core::parameter(called, {"h"}, "exponent of the distance", {.low = 0.0, .high = 2.0});
  };
  if (kind == form::log) return declared("kerple/log", {r1, r2});
  if (kind == form::power) return declared("kerple/power", {r1, exponent("r2")});
  if (kind == form::log_power) return declared("kerple/log_power", {r1, r2, exponent("r3")});
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

inline std::vector<recorded_formula<kerple::scheme>> kerple::formulas() {
  const auto made = [](form kind, std::vector<accuracy_class> algorithms) {
    return recorded_formula<scheme>{declaration(kind),
                                    [kind](const scheme& steps, const formula::program_sizes& call) {
                                      recorded_pairs pairs(call);
                                      return pairs.finish(formula_of(kind, pairs, steps));
                                    },
                                    std::move(algorithms)};
  };
  const std::vector<accuracy_class> one{accuracy_class::sequential},
      logarithms{accuracy_class::sequential, accuracy_class::linear};
  return {made(form::log, logarithms), made(form::power, one), made(form::log_power, logarithms),
          made(form::weighted_scores, one)};
}

}  // namespace assay::reference::encodings
