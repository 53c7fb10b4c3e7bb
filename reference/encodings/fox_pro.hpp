// The parts of the Pro block of the Forgetting Transformer besides its attention (Lin et al., "Forgetting Transformer:
// Softmax Attention with a Forget Gate", ICLR 2025, arXiv 2503.02130; zhixuan-lin/forgetting-transformer): keys and
// values are shifted; queries, keys and the output are normalised head by head; and the output is gated.
//
//   fox_pro/shift   y_t = sigmoid(a_t) z_{t-1} + sigmoid(-a_t) z_t,  z_t = x_t where the token is visible, else 0
//   fox_pro/norm    y = w x / sqrt(mean of x^2 over a head + epsilon)
//   fox_pro/output  y = w o / sqrt(mean of o^2 over a head + epsilon) sigmoid(g)
//
// Shapes: x, o, g, y [B, n, h, d]; a [B, n, h]; visible [B, n], 0 or 1; w [h, d]. z_0 is the state x0 [B, h, d], 0 at
// the beginning of a sequence, and x_n [B, h, d] is the last z: this is a shift of two taps and no recurrence.
// `shared`: all heads have the weights of the first head, as in the experiments of the paper.
//
// Special values: a = -inf gives exactly z_t, and a = +inf gives exactly z_{t-1}. A hidden token is 0 whatever it
// holds; any other NaN reaches its own row, and the next one. A row of zeros gives 0. Laws: sigmoid(-a) is of class
// sequential. 1 - sigmoid(a), as in the released code, is of class linear: it loses exp(-a) beside 1. The gradients of
// both gates by automatic differentiation, y (1 - y) with y = sigmoid, lose it, too.
#pragma once

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "reference/kinds/normalized_rows.hpp"
#include "reference/kinds/recorded_call.hpp"

namespace assay::reference::encodings {

struct fox_pro {
  static constexpr std::string_view name = "fox_pro";
  static core::encoding_summary summary() {
    return {.what = "the Pro block of FoX: token shift, norm by head, output gate",
            .formula = "y_t = sigmoid(a_t) x_{t-1} + sigmoid(-a_t) x_t, y = w o / sqrt(mean o^2 + epsilon) sigmoid(g)",
            .sources = {{"Lin et al. 2025", "https://arxiv.org/abs/2503.02130"}}};
  }

  /// The stages of fox_pro/norm and fox_pro/output, and those of fox_pro/shift.
  enum class stage { norm, output };
  enum class shift_stage { gates, product };

  using traced = formula::traced;
  /// The weights of the previous token, and of the token itself.
  struct taps {
    traced before, own;
  };
  /// The steps that variants replace.
  struct scheme : recorded_scheme<scheme> {
    std::function<taps(const traced& a)> taps_of = [](const traced& a) { return taps{sigmoid(a), sigmoid(-a)}; };
    std::function<traced(const traced& g)> gate = [](const traced& g) { return sigmoid(g); };
    /// Rows divided by the root of the mean of their squares plus epsilon.
    std::function<traced(const traced& x, const traced& epsilon, bool is_of_gradient)> norm =
        [](const traced& x, const traced& epsilon, bool is_of_gradient) {
          return over_root(square_norm::mean, x, epsilon, is_of_gradient);
        };
  };
  static scheme algorithm(accuracy_class c) {
    scheme steps;
    if (c == accuracy_class::linear) steps.taps_of = less_sigmoid;
    return steps;
  }
  static std::vector<recorded_formula<scheme>> formulas() {
    const std::vector<accuracy_class> gated{accuracy_class::sequential, accuracy_class::linear};
    return {{shift_declaration(), shift, gated, 1}, {norm_declaration(), norm}, {output_declaration(), output, gated}};
  }

 private:
  static core::operation shift_declaration();
  static core::operation norm_declaration();
  static core::operation output_declaration();
  static taps less_sigmoid(const traced& a) {
    const traced before = sigmoid(a);
    return {before, traced(1.0) - before};
  }
  static formula::program shift(const scheme& steps, const formula::program_sizes& call);
  static formula::program norm(const scheme& steps, const formula::program_sizes& call);
  static formula::program output(const scheme& steps, const formula::program_sizes& call);
  /// Normalised rows times their weights.
  static traced normalised(const scheme& steps, const recorded_call& in, const char* rows);

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
          // Eager code rounds both gradients that reach a token, one from each of its two uses.
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
      .attributes = {real("epsilon", {1e-6, 1e-5, 1e-3}, {0x1p-126, 1.0}, "what is added to the mean of the squares"),
                     flag("shared", false, "whether all heads have the weights of the first one")},
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

inline formula::program fox_pro::shift(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const std::size_t rows = in.size("B"), n = in.size("n"), heads = in.size("h"), width = in.size("d");
  const auto hidden = equal(reshaped(in.integers("visible"), {rows, n, 1, 1}), formula::traced_integer::constant(0));
  const traced a = reshaped(in["a"], {rows, n, heads, 1}), first = reshaped(in["x0"], {rows, 1, heads, width}),
               tokens = formula::joined({first, either(hidden, traced(0.0), in["x"])}, 1);
  // Class linear also has the gradient of sequential, by y (1 - y) of its own sigmoids.
  const scheme& gates = in.is_other_gradient() ? scheme{} : steps;
  const taps weight = in_stage<traced>(shift_stage::gates, [&] { return gates.taps_of(a); });
  const traced y = in_stage<traced>(shift_stage::product, [&] {
    accumulator<traced> sum;
    sum.add_product(weight.before, between(tokens, 1, 0, n));
    sum.add_product(weight.own, between(tokens, 1, 1, n + 1));
    return sum.total();
  });
  return in.finish_all({y, reshaped(between(tokens, 1, n, n + 1), {rows, heads, width})});
}

inline fox_pro::traced fox_pro::normalised(const scheme& steps, const recorded_call& in, const char* rows) {
  const traced x = in[rows], w = in["w"],
               weights = in.setting<bool>("shared") ? between(w, 0, 0, std::min<std::size_t>(in.size("h"), 1)) : w;
  const traced scaled =
      in_stage<traced>(stage::norm, [&] { return steps.norm(x, in.number("epsilon"), in.is_of_gradient()); });
  return in_stage<traced>(stage::output,
                          [&] { return taken_from(static_cast<std::size_t>(stage::norm), scaled) * weights; });
}

inline formula::program fox_pro::norm(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  return in.finish(normalised(steps, in, "x"));
}

inline formula::program fox_pro::output(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced g = in["g"], y = normalised(steps, in, "o");
  return in.finish(in_stage<traced>(stage::output, [&] { return y * steps.gate(g); }));
}

}  // namespace assay::reference::encodings
