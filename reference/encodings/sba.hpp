// Stick-breaking attention (Tan, Shen, Yang, Courville and Panda, "Scaling Stick-Breaking Attention: An Efficient
// Implementation and In-depth Study", ICLR 2025, arXiv 2410.17980): weights that each key breaks off what nearer keys
// have left, and no position encoding beside,
//
//   a_ij = sigmoid(z_ij) prod_{j < l < i} (1 - sigmoid(z_il)),   r_i = prod_{l < i} (1 - sigmoid(z_il))     eq. (2)
//
// Shapes: logits z and weights a [B, h, n, m], remainder r [B, h, n]. Queries are the last of the keys: query i stands
// at key i + m - n, and sees those before it, and itself with `attend_current`. A query that sees none has r = 1; the
// weight of a key that it does not see is 0, a constant.
//
// `softplus`: exact; linear_above_15, as shawntan/stickbreaking-attention describes it, whose softplus(z) is z for
// z > 15, so that a row may add up to 1 + 3e-7; base2, as its kernels have it (sb_varlen/softplus.py), which compare
// with 15 in units of log 2: 10.397, and 1 + 3e-5. It is another function there, with the slope 1, and no rounding.
// Special values, and what a row is: algorithms/stick_breaking.hpp. Laws: sums of softplus from the query back are of
// class sequential; products of sigmoid(-z), and log(1 + exp(z)) for softplus, of class linear, both lose exp(z) beside
// 1; sums as the total less prefix sums are of class cumsum.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "reference/algorithms/stick_breaking.hpp"
#include "reference/derived_vjp.hpp"
#include "reference/kinds/declarations.hpp"
#include "reference/oracle.hpp"

namespace assay::reference::encodings {

struct sba {
  static constexpr std::string_view name = "sba";

  /// What of the weights has a format of its own.
  enum class stage { weights, softplus };

  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    /// From the logits of the keys that a query sees to their weights, and the remainder behind them.
    recipe_step<R, std::vector<R>(const std::vector<R>& logits, const stick_rule<R>& rule)> weights = stick_by_sums<R>;
  };
  template <class R>
  static recipe<R> algorithm(accuracy_class c) {
    recipe<R> how;
    if (c == accuracy_class::linear) how.weights = stick_by_product<R>;
    if (c == accuracy_class::cumsum) how.weights = stick_by_sums<R, suffix_sums_by_prefix<R>>;
    return how;
  }
  template <class R>
  static recipe<R> law(accuracy_class c) {
    recipe<R> how = algorithm<R>(c);
    if (c == accuracy_class::cumsum) how.weights = stick_by_sums<R, law_of_total_less_prefix<R>>;
    return how;
  }

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records();

  /// The keys that query i of n sees among m.
  static std::size_t seen_by(std::size_t i, std::size_t n, std::size_t m, bool attend_current) {
    const std::size_t before = i + m + (attend_current ? 1 : 0);
    return before > n ? std::min(before - n, m) : 0;
  }

 private:
  static core::operation weights_declaration();
  template <class R>
  static stick_rule<R> rule_of(const core::attributes& settings);
  template <class R, class Visit>
  static void each_row(const field<R>& z, const core::attributes& settings, Visit visit);
  template <class R>
  static fields<R> weights(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> weights_vjp(const arguments<R>& call, const recipe<R>& how);
};

inline core::operation sba::weights_declaration() {
  const auto relative = [](const char* called, std::vector<std::string> axes, const char* meaning) {
    return core::tensor_declaration{.name = called,
                                    .axes = std::move(axes),
                                    .meaning = meaning,
                                    .domain = {.low = 0.0},
                                    .scale = core::error_scale::relative};
  };
  return {.name = "sba/weights",
          .source = "Tan et al. 2025, arXiv 2410.17980, eq. (2)",
          .inputs = {{.name = "z",
                      .axes = {"B", "h", "n", "m"},
                      .meaning = "logits, queries by keys; -inf: the key is transparent",
                      .domain = {.minus_infinity = true},
                      .summed_over_time = true,
                      .role = core::input_role::logit}},
          .outputs = {relative("a", {"B", "h", "n", "m"}, "weights, queries by keys"),
                      relative("r", {"B", "h", "n"}, "what a query leaves")},
          .attributes = {flag("attend_current", false, "a query sees its own key"),
                         choice("softplus", {"exact", "linear_above_15", "base2"},
                                "log(1 + exp(z)), or z beyond 15, or beyond 15 log 2")},
          .stages = {{.name = "weights", .meaning = "sums of softplus, and exponentials"},
                     {.name = "softplus", .meaning = "softplus of the logits, as the sums take it", .narrow = true}},
          .grows_with = &core::with_keys,
          .independent = {"B", "h"}};
}

template <class R>
stick_rule<R> sba::rule_of(const core::attributes& settings) {
  const int form = core::chosen<int>(settings, "softplus", {{"exact", 0}, {"linear_above_15", 1}, {"base2", 2}});
  const R infinite(std::numeric_limits<double>::infinity()), fifteen(15.0);
  return {form == 0   ? infinite
          : form == 1 ? fifteen
                      : fifteen * log(R(2.0)),
          static_cast<std::size_t>(stage::softplus)};
}

/// visit(index of the row, index of its first logit, keys that it sees)
template <class R, class Visit>
void sba::each_row(const field<R>& z, const core::attributes& settings, Visit visit) {
  const std::size_t n = z.shape(2), m = z.shape(3);
  const bool attend_current = core::setting<bool>(settings, "attend_current");
  for (std::size_t row = 0; row < z.shape(0) * z.shape(1) * n; ++row)
    visit(row, row * m, seen_by(row % n, n, m, attend_current));
}

template <class R>
fields<R> sba::weights(const arguments<R>& call, const recipe<R>& how) {
  const field<R>& z = call["z"];
  const stick_rule<R> rule = rule_of<R>(call.settings);
  field<R> a = make_field<R>(core::shape(z.shape().begin(), z.shape().end())),
           r = make_field<R>({z.shape(0), z.shape(1), z.shape(2)});
  each_row(z, call.settings, [&](std::size_t row, std::size_t first, std::size_t keys) {
    const R* seen = z.data() + first;
    const std::vector<R> broken = in_stage<R>(
        stage::weights, [&](const std::vector<R>& x) { return how.weights(x, rule); },
        std::vector<R>(seen, seen + keys));
    std::copy_n(broken.begin(), keys, a.data() + first);
    r.storage()[row] = broken.back();
  });
  return {{"a", std::move(a)}, {"r", std::move(r)}};
}

/// Derived row by row: the tape holds the graph of one at a time, however many there are.
template <class R>
fields<R> sba::weights_vjp(const arguments<R>& call, const recipe<R>& how) {
  if constexpr (carries_derivatives<R>) {
    throw core::contract_violation("no second derivative of " + call.operation);
  } else {
    const field<R>&z = call["z"], &grad_a = call["grad_a"], &grad_r = call["grad_r"];
    const recipe<adjoint<R>> steps = how.of_gradient ? *how.of_gradient : recipe<adjoint<R>>{};
    field<R> grad = make_field<R>(core::shape(z.shape().begin(), z.shape().end()));
    each_row(z, call.settings, [&](std::size_t row, std::size_t first, std::size_t keys) {
      tape<R> graph;
      std::vector<adjoint<R>> logits;
      for (std::size_t j = 0; j < keys; ++j) logits.push_back(adjoint<R>::variable(z.storage()[first + j]));
      const auto rule = rule_of<adjoint<R>>(call.settings);
      const std::vector<adjoint<R>> broken = in_stage<adjoint<R>>(
          stage::weights, [&](const std::vector<adjoint<R>>& x) { return steps.weights(x, rule); }, logits);
      for (std::size_t j = 0; j < keys; ++j) graph.put(broken[j].node, cotangent<R>(grad_a.storage()[first + j]));
      graph.put(broken.back().node, cotangent<R>(grad_r.storage()[row]));
      const auto variables = keys == 0 ? graph.last() : logits.back().node;
      graph.sweep(variables);
      for (std::size_t j = 0; j < keys; ++j) grad.storage()[first + j] = graph.gradient(logits[j].node);
    });
    return {{"grad_z", std::move(grad)}};
  }
}

template <class R>
std::vector<sba::record<R>> sba::records() {
  return {{.declaration = weights_declaration(),
           .algorithms = {accuracy_class::sequential, accuracy_class::linear, accuracy_class::cumsum},
           .forward = weights<R>,
           .vjp = weights_vjp<R>,
           .jvp = not_offered}};
}

}  // namespace assay::reference::encodings
