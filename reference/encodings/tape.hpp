// TAPE, contextualised equivariant positions (Zhu et al., "Rethinking Addressing in Language Models via Contextualized
// Equivariant Positional Encoding", 2025, arXiv 2501.00712; VITA-Group/TAPE, models/llama/adape.py): each token has a
// state (e_cos, e_sin) that begins as RoPE's cosines and sines and that every layer changes.
//
//   tape/apply   y = x e_cos + rotate_half(x) e_sin
//   tape/mix     f = e + mix (P e), P the weights of attention                     of e_cos and of e_sin
//   tape/update  f = e + D (silu(G x) (U e)), along heads                          of e_cos and of e_sin
//
// Shapes: x, e [B, h, n, 2r] of `apply`, rotate_half(x) = (-x_2, x_1) of the halves; weights [B, h, n, n], e [B, h, n,
// d], mix [h, h]; x [B, n, c] of the token, U `up` [k, h], G `gate` [k, c], D `down` [h, k]. `across_heads`: head h
// gets the sum over g of mix_hg P_g e_g. Without it, mix is one factor for each head, the sum of its row. The released
// einsum computes this, since its second index is not in its output.
//
// Special values: mix = 0 or U = 0, the initial values, leave finite states as they are. States are neither normalised
// nor kept on the circle: after three layers of mix = 1/2, |e| is between 0.24 and 3.4
// (properties/encodings/tape/tests/drift_test.cpp). Laws: those of sums of products. Errors are measured against max(1,
// |f|), and errors of y against its row. The gradient of silu may contain y (1 - y) with y = sigmoid, as in automatic
// differentiation.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/kinds/recorded_call.hpp"

namespace assay::reference::encodings {

struct tape {
  static constexpr std::string_view name = "tape";
  static core::encoding_summary summary() {
    return {.what = "rotary states that every layer changes",
            .formula = "y = x e_cos + rotate_half(x) e_sin, e' = e + mix (P e)",
            .sources = {{"Zhu et al. 2025", "https://arxiv.org/abs/2501.00712"}}};
  }

  /// The parts of a state that have a format of their own, in the order of stages(): all in the dtype of the tensors.
  enum class stage { product, accumulation };

  using traced = formula::traced;
  /// The steps that variants replace.
  struct scheme : recorded_scheme<scheme> {
    std::function<traced(const traced& z)> activation = [](const traced& z) { return z * sigmoid(z); };
  };
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{apply_declaration(), apply}, {mix_declaration(), mix}, {update_declaration(), update}};
  }

 private:
  static core::operation apply_declaration();
  static core::operation mix_declaration();
  static core::operation update_declaration();
  /// An operation that takes the states of all tokens, and changes them.
  static core::operation states_operation(const char* called, std::vector<core::tensor_declaration> others);
  static formula::program apply(const scheme& steps, const formula::program_sizes& call);
  static formula::program mix(const scheme& steps, const formula::program_sizes& call);
  static formula::program update(const scheme& steps, const formula::program_sizes& call);
  /// e + change(e), for e_cos and for e_sin.
  template <class Change>
  static formula::program changed(recorded_call& in, Change change);

  static constexpr const char* source = "Zhu et al. 2025, arXiv 2501.00712, and its released code";
};

inline core::operation tape::apply_declaration() {
  const auto rows = [](const char* called, const char* meaning) {
    return core::tensor_declaration{.name = called, .axes = {"B", "h", "n", "2r"}, .meaning = meaning};
  };
  core::tensor_declaration y = rows("y", "the same, turned and scaled");
  y.scale = core::error_scale::by_row;
  return {.name = "tape/apply",
          .source = source,
          .inputs = {rows("x", "queries or keys"), rows("e_cos", "cosines of the states"),
                     rows("e_sin", "sines of the states")},
          .outputs = {std::move(y)},
          .stages = {{.name = "product", .meaning = "products with the state, and their sum", .narrow = true}},
          .independent = {"B", "h", "n"}};
}

inline core::operation tape::states_operation(const char* called, std::vector<core::tensor_declaration> others) {
  const auto states = [](const char* name, const char* meaning) {
    return core::tensor_declaration{.name = name, .axes = {"B", "h", "n", "d"}, .meaning = meaning};
  };
  core::operation op{
      .name = called,
      .source = source,
      .inputs = {states("e_cos", "cosines of the states"), states("e_sin", "sines of the states")},
      .outputs = {states("f_cos", "the changed cosines"), states("f_sin", "the changed sines")},
      .stages = {{.name = "product", .meaning = "sums of products, and what is made of them", .narrow = true},
                 {.name = std::string(core::accumulation), .meaning = "sums of products, in gradients too"}}};
  op.inputs.insert(op.inputs.end(), others.begin(), others.end());
  return op;
}

inline core::operation tape::mix_declaration() {
  core::operation op = states_operation(
      "tape/mix", {{.name = "weights", .axes = {"B", "h", "n", "n"}, .meaning = "weights of queries for keys"},
                   core::parameter("mix", {"h", "h"}, "weight of post_attention_linear, output by input")});
  op.attributes = {
      flag("across_heads", false, "whether heads are mixed; else each has the sum of its row of mix as a factor")};
  return op;
}

inline core::operation tape::update_declaration() {
  core::operation op = states_operation("tape/update", {{.name = "x", .axes = {"B", "n", "c"}, .meaning = "tokens"},
                                                        core::parameter("up", {"k", "h"}, "U"),
                                                        core::parameter("gate", {"k", "c"}, "G"),
                                                        core::parameter("down", {"h", "k"}, "D")});
  op.axis_roles = {{"c", core::axis_role::width}};
  op.independent = {"B", "n"};
  return op;
}

inline formula::program tape::apply(const scheme&, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced x = in["x"], cosines = in["e_cos"], sines = in["e_sin"];
  const std::size_t half = in.size("r");
  const traced turned = formula::joined({-between(x, 3, half, 2 * half), between(x, 3, 0, half)}, 3);
  return in.finish(in_stage<traced>(stage::product, [&] { return x * cosines + turned * sines; }));
}

template <class Change>
formula::program tape::changed(recorded_call& in, Change change) {
  const traced cosines = in["e_cos"], sines = in["e_sin"];
  const auto after = [&](const traced& e) { return in_stage<traced>(stage::product, [&] { return e + change(e); }); };
  return in.finish_all({after(cosines), after(sines)});
}

inline formula::program tape::mix(const scheme&, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced weights = in["weights"], mix_of_heads = in["mix"];
  return changed(in, [&](const traced& e) {
    const traced seen = contracted(weights, e, "bhij,bhjc->bhic");
    if (in.setting<bool>("across_heads")) return contracted(mix_of_heads, seen, "hg,bgic->bhic");
    return reshaped(summed(mix_of_heads, {1}), {in.size("h"), 1, 1}) * seen;
  });
}

inline formula::program tape::update(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced x = in["x"], up = in["up"], gate = in["gate"], down = in["down"];
  const traced gates = in_stage<traced>(stage::product, [&] {
    return reshaped(steps.activation(contracted(x, gate, "bnc,kc->bkn")),
                    {in.size("B"), in.size("k"), in.size("n"), 1});
  });
  return changed(in, [&](const traced& e) {
    return contracted(down, gates * contracted(up, e, "kh,bhnc->bknc"), "hk,bknc->bhnc");
  });
}

}  // namespace assay::reference::encodings
