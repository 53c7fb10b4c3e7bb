// Dot-product attention with an additive bias of the logits: what relative encodings add to, and what every later
// encoding is observed through. Formula: algorithms/attention.hpp.
//
// Shapes: q [B, h, n, d], k [B, h, m, d], v [B, h, m, e], bias [h, n, m], shared by the batch; o [B, h, n, e].
// Attribute `scale` of q . k: "inverse_sqrt", 1 / sqrt(d) (Vaswani et al. 2017, eq. 1), or "one" (T5; Raffel et al.
// 2020, section 2.1). The bias is added to the scaled product: code that scales both (Falcon's ALiBi) computes another
// function.
//
// Special values: bias = -inf is the mask. A query without a key has o = 0. A NaN reaches every query that may see it;
// an infinite logit is none of the domain.
#pragma once

#include <limits>
#include <string_view>

#include "reference/algorithms/attention.hpp"
#include "reference/core/operation.hpp"
#include "reference/readings/reading.hpp"

namespace assay::reference::encodings {

struct attention {
  static constexpr std::string_view name = "attention";

  static std::vector<core::operation> operations();

  template <class R>
  using recipe = attention_recipe<R>;

  template <class R>
  static fields<R> evaluate(const arguments<R>& call, const recipe<R>& how);
};

inline std::vector<core::operation> attention::operations() {
  const core::value_domain finite{},
      masked{-std::numeric_limits<double>::max(), std::numeric_limits<double>::max(), true};
  core::operation op;
  op.name = "attention/output";
  op.inputs = {{"q", {"B", "h", "n", "d"}, finite, true, "queries"},
               {"k", {"B", "h", "m", "d"}, finite, true, "keys"},
               {"v", {"B", "h", "m", "e"}, finite, true, "values"},
               {"bias", {"h", "n", "m"}, masked, true, "added to the logits; -inf: the mask"}};
  op.outputs = {{"o", {"B", "h", "n", "e"}, finite, true, "weighted means of the values"}};
  op.source = "Vaswani et al. 2017, arXiv 1706.03762, eq. (1)";
  op.independent = {"B", "h", "n"};
  op.attributes = {scale_attribute()};
  return {op};
}

template <class R>
fields<R> attention::evaluate(const arguments<R>& call, const recipe<R>& how) {
  const field<R>&q = call["q"], &k = call["k"], &v = call["v"], &bias = call["bias"];
  const std::size_t batch = q.shape(0), heads = q.shape(1), n = q.shape(2), d = q.shape(3), m = k.shape(2),
                    e = v.shape(3);
  const R scale = logit_scale<R>(call.template setting<std::string>("scale"), d);
  const auto head_of = [&](std::size_t head) {
    return attention_head<R>{
        n, m, d, e, scale, q.data() + head * n * d, k.data() + head * m * d, v.data() + head * m * e};
  };
  if (!call.operation.ends_with(":vjp")) {
    field<R> out = make_field<R>({batch, heads, n, e});
    for (std::size_t head = 0; head < batch * heads; ++head)
      attend(head_of(head), bias.data() + head % heads * n * m, out.data() + head * n * e, how);
    return {{"o", std::move(out)}};
  }
  fields<R> grads;
  for (const char* input : {"q", "k", "v", "bias"}) grads.emplace("grad_" + std::string(input), call[input]);
  std::vector<accumulator<R>> of_bias(bias.size());
  for (std::size_t head = 0; head < batch * heads; ++head) {
    attention_gradients<R> sums(head_of(head));
    const std::size_t first = head % heads * n * m;
    attend_vjp(head_of(head), bias.data() + first, call["grad_o"].data() + head * n * e, sums, how,
               [&](std::size_t i, std::size_t j, const R& x) { of_bias[first + i * m + j].add(x); });
    sums.store_head(head, grads.at("grad_q"), grads.at("grad_k"), grads.at("grad_v"));
  }
  for (std::size_t i = 0; i < of_bias.size(); ++i) grads.at("grad_bias").storage()[i] = of_bias[i].total();
  return grads;
}

}  // namespace assay::reference::encodings
