// The decay of forgetting attention (Lin et al., "Forgetting Transformer: Softmax Attention with a Forget Gate",
// ICLR 2025, arXiv 2503.02130): a logit bias from forget gates f_t in (0, 1),
//
//   D_ij = log f_{j+1} + ... + log f_i for j <= i, and -inf for j > i (the causal mask)              section 3
//
// Shapes: log_f, g [B, n, h], one gate a head and token; D [B, h, n, n], queries by keys. Tokens count from 1.
// f_1 stands in no D. `fox/decay` takes log f, `fox/gated_decay` the gate logits g, log f = log_sigmoid(g).
// `fox/attention` is what the decay is for: o = softmax(scale q k^T + D) v for q, k [B, h, n, d], v [B, h, n, e].
//
// Special values: log f = -inf (f = 0) makes D = -inf for the pairs that it separates and leaves all others alone:
// a reset. NaN reaches the pairs that it separates. Gradients: D is linear in log f, so a cotangent counts wherever
// it stands at j <= i; those above the diagonal belong to a constant.
#pragma once

#include <functional>
#include <limits>
#include <string_view>

#include "reference/accuracy_class.hpp"
#include "reference/algorithms/attention.hpp"
#include "reference/algorithms/segment_sums.hpp"
#include "reference/core/operation.hpp"

namespace assay::reference::encodings {

struct fox {
  static constexpr std::string_view name = "fox";
  static constexpr accuracy_class algorithms[] = {accuracy_class::sequential, accuracy_class::cumsum};

  static std::vector<core::operation> operations();

  /// How one head of one row is computed: what algorithms, accuracy classes and mutants replace. The blocks are
  /// n x n; sums leaves above the diagonal what stands there.
  template <class R>
  struct recipe {
    std::function<void(const_lane<R> a, R* decay)> sums = segment_sums<R>;
    std::function<void(const R* grad_decay, lane<R> grad_a)> adjoint = segment_sums_adjoint<R>;
    std::function<R(const R& g)> gate = [](const R& g) { return log_sigmoid(g); };
    std::function<R(const R& g)> gate_slope = [](const R& g) { return sigmoid(-g); };
    attention_recipe<R> heads{};
  };

  /// Sums of segments have no shorter tree of their own.
  template <class R>
  static recipe<R> algorithm(accuracy_class c);
  /// Prefix sums have no answer behind a gate of 0, but their adjoint, which is linear, may stand beside sums that
  /// have.
  static recipe<tracked> law(accuracy_class c) {
    using R = tracked;
    recipe<R> how = algorithm<R>(c);
    if (c == accuracy_class::cumsum)
      how.sums = [](const_lane<R> a, R* out) {
        bool resets = false;
        for (std::size_t i = 0; i < a.size(); ++i) resets = resets || is_minus_infinity(a[i]);
        (resets ? segment_sums<R> : segment_sums_by_prefix<R>)(a, out);
      };
    return how;
  }

  template <class R>
  static fields<R> evaluate(const arguments<R>& call, const recipe<R>& how);

 private:
  template <class R>
  static fields<R> evaluate_decay(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> evaluate_attention(const arguments<R>& call, const recipe<R>& how);
};

inline std::vector<core::operation> fox::operations() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const core::value_domain decay{-infinity, 0.0, true}, finite{};
  const core::tensor_declaration d{"D", {"B", "h", "n", "n"}, decay, true, "logit bias, queries by keys"};
  core::operation plain, gated, attention;
  plain.name = "fox/decay";
  plain.inputs = {{"log_f", {"B", "n", "h"}, decay, true, "log forget gates", true}};
  plain.outputs = {d};
  gated.name = "fox/gated_decay";
  gated.inputs = {{"g", {"B", "n", "h"}, finite, true, "gate logits, log f = log sigmoid(g)", true}};
  gated.outputs = {d};
  attention.name = "fox/attention";
  attention.inputs = {{"q", {"B", "h", "n", "d"}, finite, true, "queries"},
                      {"k", {"B", "h", "n", "d"}, finite, true, "keys"},
                      {"v", {"B", "h", "n", "e"}, finite, true, "values"},
                      plain.inputs.front()};
  attention.outputs = {{"o", {"B", "h", "n", "e"}, finite, true, "weighted means of the values"}};
  attention.attributes = {scale_attribute()};
  std::vector<core::operation> all{plain, gated, attention};
  for (core::operation& op : all) {
    op.source = "Lin et al. 2025, arXiv 2503.02130, section 3";
    op.independent = {"B", "h"};
  }
  return all;
}

template <class R>
fox::recipe<R> fox::algorithm(accuracy_class c) {
  recipe<R> how;
  if (c != accuracy_class::cumsum) return how;
  how.sums = segment_sums_by_prefix<R>;
  how.adjoint = segment_sums_adjoint_by_suffix<R>;
  return how;
}

template <class R>
fields<R> fox::evaluate(const arguments<R>& call, const recipe<R>& how) {
  return call.operation.starts_with("fox/attention") ? evaluate_attention(call, how) : evaluate_decay(call, how);
}

template <class R>
fields<R> fox::evaluate_attention(const arguments<R>& call, const recipe<R>& how) {
  const field<R>&q = call["q"], &k = call["k"], &v = call["v"], &gates = call["log_f"];
  const std::size_t heads = q.shape(1), n = q.shape(2), d = q.shape(3), e = v.shape(3);
  const bool backwards = call.operation.ends_with(":vjp");
  fields<R> out;
  if (backwards)
    for (const char* input : {"q", "k", "v", "log_f"}) out.emplace("grad_" + std::string(input), call[input]);
  else
    out.emplace("o", v);
  for (std::size_t head = 0; head < q.shape(0) * heads; ++head) {
    const std::size_t first_gate = head / heads * n * heads + head % heads;
    std::vector<R> decay(n * n, R(-std::numeric_limits<double>::infinity()));
    how.sums({gates.data() + first_gate, heads, n}, decay.data());
    const attention_head<R> one{n,
                                n,
                                d,
                                e,
                                logit_scale<R>(call.template setting<std::string>("scale"), d),
                                q.data() + head * n * d,
                                k.data() + head * n * d,
                                v.data() + head * n * e};
    if (!backwards) {
      attend(one, decay.data(), out.at("o").data() + head * n * e, how.heads);
      continue;
    }
    std::vector<R> grad_decay(n * n, R(0.0));
    attention_gradients<R> sums(one);
    attend_vjp(one, decay.data(), call["grad_o"].data() + head * n * e, sums, how.heads,
               [&](std::size_t i, std::size_t j, const R& x) { grad_decay[i * n + j] = x; });
    sums.store_head(head, out.at("grad_q"), out.at("grad_k"), out.at("grad_v"));
    how.adjoint(grad_decay.data(), {out.at("grad_log_f").data() + first_gate, heads, n});
  }
  return out;
}

template <class R>
fields<R> fox::evaluate_decay(const arguments<R>& call, const recipe<R>& how) {
  const bool gated = call.operation.starts_with("fox/gated_decay");
  const field<R>& gates = call[gated ? "g" : "log_f"];
  const std::size_t batch = gates.shape(0), n = gates.shape(1), heads = gates.shape(2);
  const auto each_head = [&](auto visit) {
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t k = 0; k < heads; ++k) visit(b * n * heads + k, (b * heads + k) * n * n);
  };
  if (call.operation.ends_with(":vjp")) {
    const field<R>& cotangents = call["grad_D"];
    field<R> grad = make_field<R>({batch, n, heads});
    each_head([&](std::size_t lane, std::size_t block) {
      how.adjoint(cotangents.data() + block, {grad.data() + lane, heads, n});
    });
    for (std::size_t i = 0; gated && i < grad.size(); ++i)
      grad.storage()[i] = grad.storage()[i] * how.gate_slope(gates.storage()[i]);
    return {{gated ? "grad_g" : "grad_log_f", std::move(grad)}};
  }
  field<R> a = gates, decay = make_field<R>({batch, heads, n, n});
  for (std::size_t i = 0; gated && i < a.size(); ++i) a.storage()[i] = how.gate(gates.storage()[i]);
  for (R& x : decay.storage()) x = R(-std::numeric_limits<double>::infinity());
  each_head([&](std::size_t lane, std::size_t block) { how.sums({a.data() + lane, heads, n}, decay.data() + block); });
  return {{"D", std::move(decay)}};
}

}  // namespace assay::reference::encodings
