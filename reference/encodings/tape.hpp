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
// gets the sum over g of mix_hg P_g e_g. Without it mix is a factor of each head, the sum of its row, which is what the
// released einsum computes, whose second index is none of its output.
//
// Special values: mix = 0 or U = 0, as they are at first, leave finite states as they are. States are neither
// normalised nor kept on the circle: three layers of mix = 1/2 leave |e| between 0.24 and 3.4 (tests/drift_test.cpp).
// Laws: of sums of products; errors are measured against max(1, |f|), and of y against its row. The gradient of silu
// may have y (1 - y) of y = sigmoid, as automatic differentiation has it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/algorithms/sigmoid_of_autograd.hpp"
#include "reference/derived_vjp.hpp"
#include "reference/kinds/declarations.hpp"

namespace assay::reference::encodings {

struct tape {
  static constexpr std::string_view name = "tape";
  static core::encoding_summary summary() {
    return {.what = "rotary states that every layer changes",
            .formula = "y = x e_cos + rotate_half(x) e_sin, e' = e + mix (P e)",
            .sources = {{"Zhu et al. 2025", "https://arxiv.org/abs/2501.00712"}}};
  }

  /// What of a state has a format of its own, in the order of stages(): all in the dtype of the tensors.
  enum class stage { product, accumulation };

  /// The steps that variants replace.
  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    recipe_step<R, R(const R& z)> activation = [](const R& z) { return z * sigmoid_by_either_slope(z); };
    /// A channel of x turned by the state: of the channel and its partner, whose sign is that of rotate_half.
    recipe_step<R, R(const R& own, const R& partner, const R& cosine, const R& sine)> turned =
        [](const R& own, const R& partner, const R& cosine, const R& sine) { return own * cosine + partner * sine; };
  };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    return {record_of<R>(apply_declaration(), apply<R>), record_of<R>(mix_declaration(), mix<R>),
            record_of<R>(update_declaration(), update<R>)};
  }

 private:
  static core::operation apply_declaration();
  static core::operation mix_declaration();
  static core::operation update_declaration();
  /// The states of all tokens, and a change of them.
  static core::operation of_states(const char* called, std::vector<core::tensor_declaration> others);
  template <class R>
  static record<R> record_of(core::operation declaration, fields<R> (*forward)(const arguments<R>&, const recipe<R>&)) {
    return {.declaration = std::move(declaration),
            .algorithms = one_algorithm,
            .forward = forward,
            .vjp = derived_vjp<tape, R>,
            .jvp = not_offered};
  }
  template <class R>
  static fields<R> apply(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> mix(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> update(const arguments<R>& call, const recipe<R>& how);

  template <class R>
  static R product(const R& x, const R& y) {
    return in_stage<R>(stage::product, std::multiplies<>(), x, y);
  }
  template <class R>
  static R sum(const R& x, const R& y) {
    return in_stage<R>(stage::product, std::plus<>(), x, y);
  }
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

inline core::operation tape::of_states(const char* called, std::vector<core::tensor_declaration> others) {
  const auto states = [](const char* name, const char* meaning) {
    return core::tensor_declaration{.name = name, .axes = {"B", "h", "n", "d"}, .meaning = meaning};
  };
  core::operation op{
      .name = called,
      .source = source,
      .inputs = {states("e_cos", "cosines of the states"), states("e_sin", "sines of the states")},
      .outputs = {states("f_cos", "the cosines after it"), states("f_sin", "the sines after it")},
      .stages = {{.name = "product", .meaning = "sums of products, and what is made of them", .narrow = true},
                 {.name = std::string(core::accumulation), .meaning = "sums of products, in gradients too"}}};
  op.inputs.insert(op.inputs.end(), others.begin(), others.end());
  return op;
}

inline core::operation tape::mix_declaration() {
  core::operation op =
      of_states("tape/mix", {{.name = "weights", .axes = {"B", "h", "n", "n"}, .meaning = "of queries for keys"},
                             core::parameter("mix", {"h", "h"}, "weight of post_attention_linear, output by input")});
  op.attributes = {flag("across_heads", false, "heads are mixed; else each has the sum of its row of mix as a factor")};
  return op;
}

inline core::operation tape::update_declaration() {
  core::operation op = of_states("tape/update", {{.name = "x", .axes = {"B", "n", "c"}, .meaning = "tokens"},
                                                 core::parameter("up", {"k", "h"}, "U"),
                                                 core::parameter("gate", {"k", "c"}, "G"),
                                                 core::parameter("down", {"h", "k"}, "D")});
  op.axis_roles = {{"c", core::axis_role::width}};
  op.independent = {"B", "n"};
  return op;
}

template <class R>
fields<R> tape::apply(const arguments<R>& call, const recipe<R>& how) {
  const field<R>&x = call["x"], &cosines = call["e_cos"], &sines = call["e_sin"];
  const std::size_t width = x.shape(3), half = width / 2;
  field<R> y = make_field<R>({x.shape(0), x.shape(1), x.shape(2), width});
  for (std::size_t k = 0; k < x.size(); ++k) {
    const bool second = k % width >= half;
    const R& partner = x.data()[second ? k - half : k + half];
    y.data()[k] = in_stage<R>(stage::product, how.turned, x.data()[k], second ? partner : -partner, cosines.data()[k],
                              sines.data()[k]);
  }
  return {{"y", std::move(y)}};
}

template <class R>
fields<R> tape::mix(const arguments<R>& call, const recipe<R>&) {
  const field<R>&weights = call["weights"], &of_heads = call["mix"];
  const bool across = call.template setting<bool>("across_heads");
  const std::size_t heads = weights.shape(1), n = weights.shape(2);
  std::vector<R> factors;  // of each head
  for (std::size_t h = 0; h < heads && !across; ++h) {
    accumulator<R> row;
    for (std::size_t g = 0; g < heads; ++g) row.add(of_heads(h, g));
    factors.push_back(total_in(stage::product, row));
  }
  fields<R> out;
  for (const auto& [from, to] : {std::pair{"e_cos", "f_cos"}, {"e_sin", "f_sin"}}) {
    const field<R>& e = call[from];
    const std::size_t channels = e.shape(3);
    field<R> f = make_field<R>({e.shape(0), heads, n, channels});
    for (std::size_t row = 0; row < e.shape(0) * n * channels; ++row) {
      const std::size_t c = row % channels, i = row / channels % n, b = row / channels / n;
      std::vector<R> seen;  // P e of each head
      for (std::size_t h = 0; h < heads; ++h) {
        accumulator<R> mean;
        const std::size_t block = (b * heads + h) * n;
        for (std::size_t j = 0; j < n; ++j)
          mean.add_product(weights.data()[(block + i) * n + j], e.data()[(block + j) * channels + c]);
        seen.push_back(total_in(stage::product, mean));
      }
      for (std::size_t h = 0; h < heads; ++h) {
        accumulator<R> mixed;
        for (std::size_t g = 0; g < heads && across; ++g) mixed.add_product(of_heads(h, g), seen[g]);
        const std::size_t at = ((b * heads + h) * n + i) * channels + c;
        const R change = across ? total_in(stage::product, mixed) : product(factors[h], seen[h]);
        f.data()[at] = sum(e.data()[at], change);
      }
    }
    out.emplace(to, std::move(f));
  }
  return out;
}

template <class R>
fields<R> tape::update(const arguments<R>& call, const recipe<R>& how) {
  const field<R>&x = call["x"], &up = call["up"], &gate = call["gate"], &down = call["down"];
  const std::size_t rows = x.shape(0), n = x.shape(1), heads = up.shape(1), hidden = up.shape(0);
  const std::size_t channels = call["e_cos"].shape(3);
  fields<R> out{{"f_cos", make_field<R>({rows, heads, n, channels})},
                {"f_sin", make_field<R>({rows, heads, n, channels})}};
  for (std::size_t token = 0; token < rows * n; ++token) {
    std::vector<R> gates;
    for (std::size_t k = 0; k < hidden; ++k) {
      accumulator<R> z;
      for (std::size_t c = 0; c < x.shape(2); ++c) z.add_product(gate(k, c), x.data()[token * x.shape(2) + c]);
      gates.push_back(in_stage<R>(stage::product, how.activation, total_in(stage::product, z)));
    }
    for (const auto& [from, to] : {std::pair{"e_cos", "f_cos"}, {"e_sin", "f_sin"}}) {
      const auto at = [&, t = token % n, b = token / n](std::size_t head, std::size_t c) {
        return ((b * heads + head) * n + t) * channels + c;
      };
      const R* e = call[from].data();
      for (std::size_t c = 0; c < channels; ++c) {
        std::vector<R> lifted;
        for (std::size_t k = 0; k < hidden; ++k) {
          accumulator<R> of_heads;
          for (std::size_t head = 0; head < heads; ++head) of_heads.add_product(up(k, head), e[at(head, c)]);
          lifted.push_back(product(gates[k], total_in(stage::product, of_heads)));
        }
        for (std::size_t head = 0; head < heads; ++head) {
          accumulator<R> change;
          for (std::size_t k = 0; k < hidden; ++k) change.add_product(down(head, k), lifted[k]);
          out.at(to).data()[at(head, c)] = sum(e[at(head, c)], total_in(stage::product, change));
        }
      }
    }
  }
  return out;
}

}  // namespace assay::reference::encodings
