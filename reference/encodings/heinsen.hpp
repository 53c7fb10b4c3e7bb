// Heinsen's log-linear position encoding (F. A. Heinsen, "Encoding Position by Decaying and Updating
// Different Exponentiated States Differently", 2024).
//
//   (p_i, h_i) = H(x_i);  s_i = log(p_i exp(s_{i-1}) + exp(h_i));  y_i = x_i + R(s_i)              eq. (1)
//   H(x) = (sigmoid(W_p x + b_p), W_h x + b_h),  R(s) = W_R s + b_R                                eq. (2)
//   s_i = LSE(log p_i + s_{i-1}, h_i),  log p_i = log_sigmoid(W_p x_i + b_p),  s_0 = 0 by default  eq. (3)
//
// Shapes: log_p, g, h, s [B, n, d]; s0, s_n [B, d]; x, y [B, n, e]; W_H [2d, e], gate half first;
// b_H [2d]; W_R [e, d]; b_R [e]. Tokens count from 1. s_n is the last state, s0 where n = 0: the s0 of the
// next chunk. Its cotangent grad_s_n is the gradient that the next chunk hands back; 0 detaches it.
//
// Special values: log p = -inf cuts the past, h = -inf adds nothing, a state may be -inf. NaN stays in its
// lane from there on. Gradients at -inf: see algorithms/adjoint.hpp.
#pragma once

#include <functional>
#include <string_view>

#include "reference/algorithms/adjoint.hpp"
#include "reference/algorithms/affine_map.hpp"
#include "reference/algorithms/forward_derivative.hpp"
#include "reference/algorithms/forward_derivative_laws.hpp"
#include "reference/algorithms/laws.hpp"
#include "reference/algorithms/scans.hpp"
#include "reference/core/operation.hpp"

namespace assay::reference::encodings {

struct heinsen {
  static constexpr std::string_view name = "heinsen";
  static constexpr accuracy_class algorithms[] = {accuracy_class::sequential, accuracy_class::tree,
                                                  accuracy_class::linear, accuracy_class::cumsum};

  static std::vector<core::operation> operations();

  /// How one lane is computed: what algorithms, accuracy classes and mutants replace.
  template <class R>
  struct recipe {
    std::function<void(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s)> scan = sequential_scan<R>;
    std::function<void(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                       const R& grad_last, scan_gradients<R> grad)>
        adjoint = scan_adjoint<sigmoid_form, R>;
    std::function<void(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, scan_direction<R> direction,
                       lane<R> ds)>
        tangent = scan_tangent<sigmoid_form, R>;
    std::function<R(const R& g)> gate = [](const R& g) { return log_sigmoid(g); };
    std::function<R(const R& g)> gate_slope = [](const R& g) { return sigmoid(-g); };
  };

  /// The algorithm that a class is named after, with the derivatives that belong to it.
  template <class R>
  static recipe<R> algorithm(accuracy_class c);

  /// The law of a class: `algorithm` widened to all algorithms of the classes up to it.
  static recipe<tracked> law(accuracy_class c);

  /// The operation `op` (one of operations(), or its vjp or jvp) by this recipe.
  template <class R>
  static fields<R> evaluate(const arguments<R>& call, const recipe<R>& how);

  template <class R, class H, class Rest>
  static fields<R> embed_position(const H& to_logits, const Rest& to_tokens, const field<R>& x, const field<R>& s0,
                                  const recipe<R>& how);

  template <class R, class H, class Rest>
  struct module_gradients {
    field<R> x, s0;
    typename H::gradients of_logits;
    typename Rest::gradients of_tokens;
  };
  template <class R, class H, class Rest>
  static module_gradients<R, H, Rest> embed_position_vjp(const H& to_logits, const Rest& to_tokens, const field<R>& x,
                                                         const field<R>& s0, const field<R>& grad_y,
                                                         const field<R>& grad_s_n, const recipe<R>& how);

 private:
  template <class R>
  struct logits {
    field<R> g, a, h;
  };
  template <class R>
  struct states {
    field<R> s, s_n;
  };
  template <class R>
  struct gradients {
    field<R> a, h, s0;
  };
  template <class R>
  static states<R> run(const field<R>& a, const field<R>& h, const field<R>& s0, const recipe<R>& how);
  template <class R>
  static gradients<R> run_back(const field<R>& a, const field<R>& h, const field<R>& s0, const field<R>& s,
                               const field<R>& grad_s, const field<R>& grad_s_n, const recipe<R>& how);
  template <class R>
  static states<R> run_tangent(const field<R>& a, const field<R>& h, const field<R>& s0, const field<R>& s,
                               const gradients<R>& direction, const recipe<R>& how);
  template <class R, class H>
  static logits<R> logits_of(const H& to_logits, const field<R>& x, const recipe<R>& how);
  template <class R>
  static fields<R> evaluate_scan(std::string_view op, const fields<R>& in, const recipe<R>& how);
};

inline std::vector<core::operation> heinsen::operations() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double largest = std::numeric_limits<double>::max();
  const core::value_domain decay{-infinity, 0.0, true}, logit{-infinity, largest, true}, finite{};
  const core::tensor_declaration h{"h", {"B", "n", "d"}, logit, true, "input logits"};
  const core::tensor_declaration s0{"s0", {"B", "d"}, logit, true, "state before the first token"};
  const core::tensor_declaration s{"s", {"B", "n", "d"}, logit, true, "states"};
  const core::tensor_declaration s_n{"s_n", {"B", "d"}, logit, true, "state after the last token"};
  const core::recurrence recurrent{"s0", "s_n"};
  const std::vector<std::string> features{"B", "d"};
  return {
      {"heinsen/scan",
       {{"log_p", {"B", "n", "d"}, decay, true, "log decay", true}, h, s0},
       {s, s_n},
       recurrent,
       "Heinsen 2024, eq. (3)",
       true,
       features},
      {"heinsen/gated_scan",
       {{"g", {"B", "n", "d"}, finite, true, "gate logits, log p = log sigmoid(g)", true}, h, s0},
       {s, s_n},
       recurrent,
       "Heinsen 2024, eq. (3) with the log-sigmoid of eq. (2)",
       true,
       features},
      {"heinsen/embed_position",
       {{"x", {"B", "n", "e"}, finite, true, "tokens"},
        {"W_H", {"2d", "e"}, finite, true, "weights of H, gate half first"},
        {"b_H", {"2d"}, finite, true, "bias of H"},
        {"W_R", {"e", "d"}, finite, true, "weights of R"},
        {"b_R", {"e"}, finite, true, "bias of R"},
        s0},
       {{"y", {"B", "n", "e"}, finite, true, "tokens with position"}, s_n},
       recurrent,
       "Heinsen 2024, eqs. (1) to (3)"},
  };
}

template <class R>
heinsen::recipe<R> heinsen::algorithm(accuracy_class c) {
  recipe<R> how;
  if (c == accuracy_class::tree) how.scan = balanced_tree_scan<R>;
  if (c == accuracy_class::tree) how.tangent = balanced_tree_tangent<sigmoid_form, R>;
  if (c == accuracy_class::linear) how.scan = linear_scan<R>;
  if (c == accuracy_class::linear) how.adjoint = scan_adjoint<exp_form, R>;
  if (c == accuracy_class::linear) how.tangent = scan_tangent<exp_form, R>;
  if (c == accuracy_class::cumsum) how.scan = cumsum_scan<R>;
  if (c == accuracy_class::cumsum) how.adjoint = cumsum_adjoint<R>;
  if (c == accuracy_class::cumsum) how.tangent = cumsum_tangent<R>;
  return how;
}

inline heinsen::recipe<tracked> heinsen::law(accuracy_class c) {
  using R = tracked;
  recipe<R> how;
  how.scan = [c](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) { law_scan(c, a, h, s0, s); };
  how.adjoint = [c](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                    const R& grad_last,
                    scan_gradients<R> grad) { law_adjoint(c, a, h, s0, s, grad_s, grad_last, grad); };
  how.tangent = [c](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, scan_direction<R> direction,
                    lane<R> ds) { law_tangent(c, a, h, s0, s, direction, ds); };
  return how;
}

/// Calls visit(offset of the lane in [B, n, d], its index in [B, d]) for every lane.
template <class Visit>
void for_each_lane(std::size_t batch, std::size_t tokens, std::size_t features, Visit visit) {
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t j = 0; j < features; ++j) visit(b * tokens * features + j, b * features + j);
}

template <class R>
heinsen::states<R> heinsen::run(const field<R>& a, const field<R>& h, const field<R>& s0, const recipe<R>& how) {
  const std::size_t batch = a.shape(0), n = a.shape(1), d = a.shape(2);
  states<R> out{make_field<R>({batch, n, d}), s0};
  for_each_lane(batch, n, d, [&](std::size_t first, std::size_t k) {
    how.scan({a.data() + first, d, n}, {h.data() + first, d, n}, s0.storage()[k], {out.s.data() + first, d, n});
    if (n > 0) out.s_n.storage()[k] = out.s.storage()[first + (n - 1) * d];
  });
  return out;
}

template <class R>
heinsen::gradients<R> heinsen::run_back(const field<R>& a, const field<R>& h, const field<R>& s0, const field<R>& s,
                                        const field<R>& grad_s, const field<R>& grad_s_n, const recipe<R>& how) {
  const std::size_t batch = a.shape(0), n = a.shape(1), d = a.shape(2);
  gradients<R> out{make_field<R>({batch, n, d}), make_field<R>({batch, n, d}), make_field<R>({batch, d})};
  for_each_lane(batch, n, d, [&](std::size_t first, std::size_t k) {
    how.adjoint({a.data() + first, d, n}, {h.data() + first, d, n}, s0.storage()[k], {s.data() + first, d, n},
                {grad_s.data() + first, d, n}, grad_s_n.storage()[k],
                {{out.a.data() + first, d, n}, {out.h.data() + first, d, n}, out.s0.storage()[k]});
  });
  return out;
}

template <class R>
heinsen::states<R> heinsen::run_tangent(const field<R>& a, const field<R>& h, const field<R>& s0, const field<R>& s,
                                        const gradients<R>& direction, const recipe<R>& how) {
  const std::size_t batch = a.shape(0), n = a.shape(1), d = a.shape(2);
  states<R> out{make_field<R>({batch, n, d}), direction.s0};
  for_each_lane(batch, n, d, [&](std::size_t first, std::size_t k) {
    how.tangent({a.data() + first, d, n}, {h.data() + first, d, n}, s0.storage()[k], {s.data() + first, d, n},
                {{direction.a.data() + first, d, n}, {direction.h.data() + first, d, n}, direction.s0.storage()[k]},
                {out.s.data() + first, d, n});
    if (n > 0) out.s_n.storage()[k] = out.s.storage()[first + (n - 1) * d];
  });
  return out;
}

template <class R>
field<R> mapped(const field<R>& x, const std::function<R(const R&)>& f) {
  field<R> y = x;
  for (R& element : y.storage()) element = f(element);
  return y;
}

template <class R, class H>
heinsen::logits<R> heinsen::logits_of(const H& to_logits, const field<R>& x, const recipe<R>& how) {
  const std::size_t batch = x.shape(0), n = x.shape(1), e = x.shape(2), d = to_logits.outputs() / 2;
  logits<R> out{make_field<R>({batch, n, d}), {}, make_field<R>({batch, n, d})};
  for (std::size_t token = 0; token < batch * n; ++token) {
    accumulators<R> sums(2 * d);
    to_logits.accumulate({x.data() + token * e, e}, sums);
    for (std::size_t j = 0; j < d; ++j) {
      out.g.storage()[token * d + j] = sums[j].total();
      out.h.storage()[token * d + j] = sums[d + j].total();
    }
  }
  out.a = mapped(out.g, how.gate);
  return out;
}

template <class R, class H, class Rest>
fields<R> heinsen::embed_position(const H& to_logits, const Rest& to_tokens, const field<R>& x, const field<R>& s0,
                                  const recipe<R>& how) {
  const logits<R> l = logits_of(to_logits, x, how);
  states<R> state = run(l.a, l.h, s0, how);
  const std::size_t tokens = x.shape(0) * x.shape(1), e = x.shape(2), d = l.a.shape(2);
  field<R> y = x;
  for (std::size_t token = 0; token < tokens; ++token) {
    accumulators<R> sums(e);
    to_tokens.accumulate({state.s.data() + token * d, d}, sums);
    for (std::size_t k = 0; k < e; ++k) {
      sums[k].add(x.storage()[token * e + k]);
      y.storage()[token * e + k] = sums[k].total();
    }
  }
  return {{"y", std::move(y)}, {"s_n", std::move(state.s_n)}};
}

/// With gamma = w lambda sigmoid(-g) and eta = v lambda: gbar = W_R^T ybar, W_R-bar = sum ybar s^T,
/// W_H-bar = sum [gamma; eta] x^T, xbar = ybar + W_H^T [gamma; eta]; biases are the same sums without x.
template <class R, class H, class Rest>
heinsen::module_gradients<R, H, Rest> heinsen::embed_position_vjp(const H& to_logits, const Rest& to_tokens,
                                                                  const field<R>& x, const field<R>& s0,
                                                                  const field<R>& grad_y, const field<R>& grad_s_n,
                                                                  const recipe<R>& how) {
  const logits<R> l = logits_of(to_logits, x, how);
  const field<R> s = run(l.a, l.h, s0, how).s;
  const std::size_t tokens = x.shape(0) * x.shape(1), e = x.shape(2), d = l.a.shape(2);
  module_gradients<R, H, Rest> out{x, {}, typename H::gradients(to_logits), typename Rest::gradients(to_tokens)};

  field<R> grad_s = s;
  std::vector<R> cotangent(e), of_logits(2 * d);
  const auto load_cotangent = [&](std::size_t token) {
    for (std::size_t k = 0; k < e; ++k) cotangent[k] = charged(grad_y.storage()[token * e + k]);
  };
  for (std::size_t token = 0; token < tokens; ++token) {
    load_cotangent(token);
    accumulators<R> sums(d);
    to_tokens.pull_back({s.data() + token * d, d}, cotangent, sums, out.of_tokens);
    for (std::size_t j = 0; j < d; ++j) grad_s.storage()[token * d + j] = sums[j].total();
  }
  gradients<R> grad = run_back(l.a, l.h, s0, s, grad_s, grad_s_n, how);
  out.s0 = std::move(grad.s0);
  for (std::size_t token = 0; token < tokens; ++token) {
    for (std::size_t j = 0; j < d; ++j) {
      const std::size_t at = token * d + j;
      of_logits[j] = grad.a.storage()[at] * how.gate_slope(l.g.storage()[at]);
      of_logits[d + j] = grad.h.storage()[at];
    }
    load_cotangent(token);
    accumulators<R> sums(e);
    to_logits.pull_back({x.data() + token * e, e}, of_logits, sums, out.of_logits);
    for (std::size_t k = 0; k < e; ++k) {
      sums[k].add(cotangent[k]);
      out.x.storage()[token * e + k] = sums[k].total();
    }
  }
  return out;
}

template <class R>
fields<R> heinsen::evaluate_scan(std::string_view op, const fields<R>& in, const recipe<R>& how) {
  const bool gated = op.starts_with("heinsen/gated_scan");
  const field<R>&decay = in.at(gated ? "g" : "log_p"), &h = in.at("h"), &s0 = in.at("s0");
  const field<R> a = gated ? mapped(decay, how.gate) : decay;
  const auto through_gate = [&](field<R> of_a) {
    for (std::size_t i = 0; gated && i < a.size(); ++i)
      of_a.storage()[i] = of_a.storage()[i] * how.gate_slope(decay.storage()[i]);
    return of_a;
  };
  states<R> state = run(a, h, s0, how);
  if (op.ends_with(":vjp")) {
    gradients<R> grad = run_back(a, h, s0, state.s, in.at("grad_s"), in.at("grad_s_n"), how);
    return {{gated ? "grad_g" : "grad_log_p", through_gate(std::move(grad.a))},
            {"grad_h", std::move(grad.h)},
            {"grad_s0", std::move(grad.s0)}};
  }
  if (op.ends_with(":jvp")) {
    const gradients<R> direction{through_gate(in.at(gated ? "tangent_g" : "tangent_log_p")), in.at("tangent_h"),
                                 in.at("tangent_s0")};
    states<R> tangents = run_tangent(a, h, s0, state.s, direction, how);
    return {{"tangent_s", std::move(tangents.s)}, {"tangent_s_n", std::move(tangents.s_n)}};
  }
  return {{"s", std::move(state.s)}, {"s_n", std::move(state.s_n)}};
}

template <class R>
fields<R> heinsen::evaluate(const arguments<R>& call, const recipe<R>& how) {
  const std::string_view op = call.operation;
  const fields<R>& in = call.inputs;
  const bool vjp = op.ends_with(":vjp");
  if (op.starts_with("heinsen/embed_position")) {
    const affine_map<R> to_logits(in.at("W_H"), in.at("b_H")), to_tokens(in.at("W_R"), in.at("b_R"));
    if (!vjp) return embed_position(to_logits, to_tokens, in.at("x"), in.at("s0"), how);
    const auto grad =
        embed_position_vjp(to_logits, to_tokens, in.at("x"), in.at("s0"), in.at("grad_y"), in.at("grad_s_n"), how);
    const auto shape_of = [&](const char* name) {
      return core::shape{in.at(name).shape().begin(), in.at(name).shape().end()};
    };
    return {{"grad_x", grad.x},
            {"grad_s0", grad.s0},
            {"grad_W_H", totals(grad.of_logits.weight, shape_of("W_H"))},
            {"grad_b_H", totals(grad.of_logits.bias, shape_of("b_H"))},
            {"grad_W_R", totals(grad.of_tokens.weight, shape_of("W_R"))},
            {"grad_b_R", totals(grad.of_tokens.bias, shape_of("b_R"))}};
  }
  return evaluate_scan(op, in, how);
}

}  // namespace assay::reference::encodings
