// Heinsen's log-linear position encoding (F. A. Heinsen, "Encoding Position by Decaying and Updating
// Different Exponentiated States Differently", 2024).
//
//   (p_i, h_i) = H(x_i);  s_i = log(p_i exp(s_{i-1}) + exp(h_i));  y_i = x_i + R(s_i)              eq. (1)
//   H(x) = (sigmoid(W_p x + b_p), W_h x + b_h),  R(s) = W_R s + b_R                                eq. (2)
//   s_i = LSE(log p_i + s_{i-1}, h_i),  log p_i = log_sigmoid(W_p x_i + b_p),  s_0 = 0 by default  eq. (3)
//
// Shapes: log_p, g, h, s [B, n, d]; s0, s_n [B, d]; x, y [B, n, e]; W_H [2d, e], gate half first; b_H [2d]; W_R [e, d];
// b_R [e]. Tokens count from 1. s_n is the last state, or s0 where n = 0; it is the s0 of the next chunk. Its cotangent
// grad_s_n is the gradient that comes back from the next chunk; 0 detaches it.
//
// Errors of states are measured against max(1, |s|): a state is a logarithm and passes through zero, where an error of
// u in e^s is an error of u in s. Tokens with position, x + R(s), are measured in the same way.
//
// Special values: log p = -inf cuts the past, h = -inf adds nothing, a state may be -inf. NaN stays in its lane from
// its token on. Gradients at -inf: see algorithms/adjoint.hpp.
#pragma once

#include <memory>
#include <string_view>

#include "reference/algorithms/adjoint.hpp"
#include "reference/algorithms/affine_map.hpp"
#include "reference/algorithms/forward_derivative.hpp"
#include "reference/algorithms/scan_laws.hpp"
#include "reference/algorithms/scans.hpp"
#include "reference/operation_record.hpp"
#include "reference/running_bounds/scan.hpp"

namespace assay::reference::encodings {

struct heinsen {
  static constexpr std::string_view name = "heinsen";
  static core::encoding_summary summary() {
    return {.what = "a log-linear recurrence",
            .formula = "s_i = log(p_i exp(s_{i-1}) + exp(h_i)), y_i = x_i + R(s_i)",
            .sources = {{"Heinsen 2024", "https://github.com/glassroom/heinsen_position_embeddings"}}};
  }

  /// The steps of one lane, which algorithms, accuracy classes and mutants replace.
  template <class R>
  struct scheme {
    scheme_step<R, void(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s)> scan = sequential_scan<R>;
    scheme_step<R, void(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                        const R& grad_last, scan_gradients<R> grad)>
        adjoint = scan_adjoint<sigmoid_form, R>;
    scheme_step<R, void(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, scan_direction<R> direction,
                        lane<R> ds)>
        tangent = scan_tangent<sigmoid_form, R>;
    /// The results after no tokens: the state as it was, and its tangent.
    scheme_step<R, R(const R& s0)> state_kept = [](const R& s0) { return s0; };
    scheme_step<R, R(const R& s0, const R& tangent_s0)> tangent_kept = [](const R&, const R& tangent_s0) {
      return tangent_s0;
    };
    scheme_step<R, R(const R& g)> gate = [](const R& g) { return log_sigmoid(g); };
    scheme_step<R, R(const R& g)> gate_slope = [](const R& g) { return sigmoid(-g); };
  };

  /// The algorithm that a class is named after, with the derivatives that belong to it.
  template <class R>
  static scheme<R> algorithm(accuracy_class c);

  /// The laws of ascending classes for one call: each class widens `algorithm` to all algorithms of the classes up to
  /// it.
  class laws;

  /// The parts of `embed_position` that have a format of their own, in the order of module_stages().
  enum class module_stage { logits, scan, output, accumulation };
  static std::vector<core::stage_declaration> module_stages();

  /// The kind of decay: the logarithm a = log p itself, or a gate logit.
  enum class decay { log_p, gate };

  template <class R>
  using record = operation_record<R, scheme<R>>;
  template <class R>
  static std::vector<record<R>> records();

  template <class R, class H, class Rest>
  static fields<R> embed_position(const H& to_logits, const Rest& to_tokens, const field<R>& x, const field<R>& s0,
                                  const scheme<R>& steps);

  template <class R, class H, class Rest>
  struct module_gradients {
    field<R> x, s0;
    typename H::gradients logits_gradients;
    typename Rest::gradients tokens_gradients;
  };
  template <class R, class H, class Rest>
  static module_gradients<R, H, Rest> embed_position_vjp(const H& to_logits, const Rest& to_tokens, const field<R>& x,
                                                         const field<R>& s0, const field<R>& grad_y,
                                                         const field<R>& grad_s_n, const scheme<R>& steps);

 private:
  template <class R>
  struct logits {
    field<R> g, a, h;
  };
  template <class R>
  struct states {
    field<R> s, s_n;
    friend states in_units(const states& x, double factor) { return {in_units(x.s, factor), in_units(x.s_n, factor)}; }
  };
  template <class R>
  struct gradients {
    field<R> a, h, s0;
    friend gradients in_units(const gradients& x, double factor) {
      return {in_units(x.a, factor), in_units(x.h, factor), in_units(x.s0, factor)};
    }
  };
  template <class R>
  static states<R> run(const field<R>& a, const field<R>& h, const field<R>& s0, const scheme<R>& steps);
  template <class R>
  static gradients<R> run_back(const field<R>& a, const field<R>& h, const field<R>& s0, const field<R>& s,
                               const field<R>& grad_s, const field<R>& grad_s_n, const scheme<R>& steps);
  template <class R>
  static states<R> run_tangent(const field<R>& a, const field<R>& h, const field<R>& s0, const field<R>& s,
                               const gradients<R>& direction, const scheme<R>& steps);
  template <class R, class H>
  static logits<R> logits_of(const H& to_logits, const field<R>& x, const scheme<R>& steps);

  template <decay Decay, class R>
  struct scan_inputs;
  static core::operation scan_declaration(decay given);
  static core::operation module_declaration();
  template <decay Decay, class R>
  static record<R> scan_record();
  template <class R>
  static record<R> module_record();
  template <decay Decay, class R>
  static fields<R> scan(const arguments<R>& call, const scheme<R>& steps);
  template <decay Decay, class R>
  static fields<R> scan_vjp(const arguments<R>& call, const scheme<R>& steps);
  template <decay Decay, class R>
  static fields<R> scan_jvp(const arguments<R>& call, const scheme<R>& steps);
  template <class R>
  static fields<R> module_forward(const arguments<R>& call, const scheme<R>& steps);
  template <class R>
  static fields<R> module_vjp(const arguments<R>& call, const scheme<R>& steps);

  static core::tensor_declaration logits_tensor(const char* called, std::vector<std::string> axes,
                                                const char* meaning) {
    constexpr double infinity = std::numeric_limits<double>::infinity(), largest = std::numeric_limits<double>::max();
    return {.name = called,
            .axes = std::move(axes),
            .meaning = meaning,
            .domain = {-infinity, largest, true},
            .role = core::input_role::logit};
  }
  static core::tensor_declaration initial_state() {
    return logits_tensor("s0", {"B", "d"}, "state before the first token");
  }
  static core::tensor_declaration last_state() {
    return logits_tensor("s_n", {"B", "d"}, "state after the last token");
  }
  static core::recurrence state_handed_on(std::string states = {}) {
    return {.state_in = "s0", .state_out = "s_n", .states = std::move(states)};
  }
  static algorithm_list algorithms() {
    return {accuracy_class::sequential, accuracy_class::tree, accuracy_class::linear, accuracy_class::cumsum};
  }
};

/// For f16 and bf16: the linear maps give that dtype and add up in f32, as torch.nn.Linear does under torch.autocast;
/// cumsum, exp and log compute in f32 (pytorch.org, "Automatic Mixed Precision", the lists of operations).
inline std::vector<core::stage_declaration> heinsen::module_stages() {
  return {{.name = "logits", .meaning = "H: gate logits, log p and h", .narrow = true},
          {.name = "scan", .meaning = "the states"},
          {.name = "output", .meaning = "the states as R takes them in, and y", .narrow = true},
          {.name = std::string(core::accumulation), .meaning = "the sums of the linear maps"}};
}

template <class R>
std::vector<heinsen::record<R>> heinsen::records() {
  return {scan_record<decay::log_p, R>(), scan_record<decay::gate, R>(), module_record<R>()};
}

inline core::operation heinsen::scan_declaration(decay given) {
  const bool gated = given == decay::gate;
  const core::tensor_declaration log_p{.name = "log_p",
                                       .axes = {"B", "n", "d"},
                                       .meaning = "log decay",
                                       .domain = {-std::numeric_limits<double>::infinity(), 0.0, true},
                                       .summed_over_time = true,
                                       .role = core::input_role::logit};
  const core::tensor_declaration g{.name = "g",
                                   .axes = {"B", "n", "d"},
                                   .meaning = "gate logits, log p = log sigmoid(g)",
                                   .summed_over_time = true,
                                   .role = core::input_role::logit};
  return {.name = gated ? "heinsen/gated_scan" : "heinsen/scan",
          .source = gated ? "Heinsen 2024, eq. (3) with the log-sigmoid of eq. (2)" : "Heinsen 2024, eq. (3)",
          .inputs = {gated ? g : log_p, logits_tensor("h", {"B", "n", "d"}, "input logits"), initial_state()},
          .outputs = {logits_tensor("s", {"B", "n", "d"}, "states"), last_state()},
          .recurrent = state_handed_on("s"),
          .grows_with = core::with_tokens,
          .independent = {"B", "d"}};
}

template <heinsen::decay Decay, class R>
heinsen::record<R> heinsen::scan_record() {
  constexpr bool gated = Decay == decay::gate;
  return {.declaration = scan_declaration(Decay),
          .algorithms = algorithms(),
          .forward = scan<Decay, R>,
          .vjp = scan_vjp<Decay, R>,
          .jvp = scan_jvp<Decay, R>,
          .bounds = gated ? running_bounds{.forward = running::bound_gated_scan,
                                           .vjp = running::bound_gated_scan_vjp,
                                           .jvp = running::bound_gated_scan_jvp}
                          : running_bounds{.forward = running::bound_scan,
                                           .vjp = running::bound_scan_vjp,
                                           .jvp = running::bound_scan_jvp}};
}

inline core::operation heinsen::module_declaration() {
  return {.name = "heinsen/embed_position",
          .source = "Heinsen 2024, eqs. (1) to (3)",
          .inputs = {{.name = "x", .axes = {"B", "n", "e"}, .meaning = "tokens"},
                     core::parameter("W_H", {"2d", "e"}, "weights of H, gate half first"),
                     core::parameter("b_H", {"2d"}, "bias of H"),
                     core::parameter("W_R", {"e", "d"}, "weights of R"),
                     core::parameter("b_R", {"e"}, "bias of R"),
                     initial_state()},
          .outputs = {{.name = "y", .axes = {"B", "n", "e"}, .meaning = "tokens with position"}, last_state()},
          .stages = module_stages(),
          .recurrent = state_handed_on(),
          .grows_with = core::with_tokens};
}

template <class R>
heinsen::record<R> heinsen::module_record() {
  return {.declaration = module_declaration(),
          .algorithms = algorithms(),
          .forward = module_forward<R>,
          .vjp = module_vjp<R>,
          .jvp = not_offered};
}

template <class R>
heinsen::scheme<R> heinsen::algorithm(accuracy_class c) {
  scheme<R> steps;
  if (c == accuracy_class::tree) steps.scan = balanced_tree_scan<R>;
  if (c == accuracy_class::tree) steps.tangent = balanced_tree_tangent<sigmoid_form, R>;
  if (c == accuracy_class::linear) steps.scan = linear_scan<R>;
  if (c == accuracy_class::linear) steps.adjoint = scan_adjoint<exp_form, R>;
  if (c == accuracy_class::linear) steps.tangent = scan_tangent<exp_form, R>;
  if (c == accuracy_class::cumsum) steps.scan = cumsum_scan<R>;
  if (c == accuracy_class::cumsum) steps.adjoint = cumsum_adjoint<R>;
  if (c == accuracy_class::cumsum) steps.tangent = cumsum_tangent<R>;
  return steps;
}

class heinsen::laws {
 public:
  scheme<tracked> next(accuracy_class c) {
    using R = tracked;
    laws_of_lanes_->begin(c);
    scheme<R> steps;
    steps.scan = [all = laws_of_lanes_](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      all->scan(a, h, s0, s);
    };
    steps.adjoint = [all = laws_of_lanes_](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s,
                                           const_lane<R> grad_s, const R& grad_last, scan_gradients<R> grad) {
      all->adjoint(a, h, s0, s, grad_s, grad_last, grad);
    };
    steps.tangent = [all = laws_of_lanes_](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s,
                                           scan_direction<R> direction,
                                           lane<R> ds) { all->tangent(a, h, s0, s, direction, ds); };
    steps.state_kept = [all = laws_of_lanes_](const R& s0) { return all->state_kept(s0); };
    steps.tangent_kept = [all = laws_of_lanes_](const R& s0, const R& tangent_s0) {
      return all->tangent_kept(s0, tangent_s0);
    };
    return steps;
  }

 private:
  std::shared_ptr<scan_laws> laws_of_lanes_ = std::make_shared<scan_laws>();
};

/// Calls visit(offset of the lane in [B, n, d], its index in [B, d]) for every lane.
template <class Visit>
void for_each_lane(std::size_t batch, std::size_t tokens, std::size_t features, Visit visit) {
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t j = 0; j < features; ++j) visit(b * tokens * features + j, b * features + j);
}

template <class R>
heinsen::states<R> heinsen::run(const field<R>& a, const field<R>& h, const field<R>& s0, const scheme<R>& steps) {
  const std::size_t batch = a.shape(0), n = a.shape(1), d = a.shape(2);
  states<R> out{make_field<R>({batch, n, d}), s0};
  for_each_lane(batch, n, d, [&](std::size_t first, std::size_t k) {
    steps.scan({a.data() + first, d, n}, {h.data() + first, d, n}, s0.storage()[k], {out.s.data() + first, d, n});
    out.s_n.storage()[k] = n > 0 ? out.s.storage()[first + (n - 1) * d] : steps.state_kept(s0.storage()[k]);
  });
  return out;
}

template <class R>
heinsen::gradients<R> heinsen::run_back(const field<R>& a, const field<R>& h, const field<R>& s0, const field<R>& s,
                                        const field<R>& grad_s, const field<R>& grad_s_n, const scheme<R>& steps) {
  const std::size_t batch = a.shape(0), n = a.shape(1), d = a.shape(2);
  gradients<R> out{make_field<R>({batch, n, d}), make_field<R>({batch, n, d}), make_field<R>({batch, d})};
  for_each_lane(batch, n, d, [&](std::size_t first, std::size_t k) {
    steps.adjoint({a.data() + first, d, n}, {h.data() + first, d, n}, s0.storage()[k], {s.data() + first, d, n},
                  {grad_s.data() + first, d, n}, grad_s_n.storage()[k],
                  {{out.a.data() + first, d, n}, {out.h.data() + first, d, n}, out.s0.storage()[k]});
  });
  return out;
}

template <class R>
heinsen::states<R> heinsen::run_tangent(const field<R>& a, const field<R>& h, const field<R>& s0, const field<R>& s,
                                        const gradients<R>& direction, const scheme<R>& steps) {
  const std::size_t batch = a.shape(0), n = a.shape(1), d = a.shape(2);
  states<R> out{make_field<R>({batch, n, d}), direction.s0};
  for_each_lane(batch, n, d, [&](std::size_t first, std::size_t k) {
    steps.tangent({a.data() + first, d, n}, {h.data() + first, d, n}, s0.storage()[k], {s.data() + first, d, n},
                  {{direction.a.data() + first, d, n}, {direction.h.data() + first, d, n}, direction.s0.storage()[k]},
                  {out.s.data() + first, d, n});
    out.s_n.storage()[k] =
        n > 0 ? out.s.storage()[first + (n - 1) * d] : steps.tangent_kept(s0.storage()[k], direction.s0.storage()[k]);
  });
  return out;
}

template <class R, class F>
field<R> mapped(const field<R>& x, const F& f) {
  field<R> y = x;
  for (R& element : y.storage()) element = f(element);
  return y;
}

template <class R, class H>
heinsen::logits<R> heinsen::logits_of(const H& to_logits, const field<R>& x, const scheme<R>& steps) {
  const std::size_t batch = x.shape(0), n = x.shape(1), e = x.shape(2), d = to_logits.outputs() / 2;
  logits<R> out{make_field<R>({batch, n, d}), {}, make_field<R>({batch, n, d})};
  for (std::size_t token = 0; token < batch * n; ++token) {
    accumulators<R> sums(2 * d);
    to_logits.accumulate({x.data() + token * e, e}, sums);
    for (std::size_t j = 0; j < d; ++j) {
      out.g.storage()[token * d + j] = total_in(module_stage::logits, sums[j]);
      out.h.storage()[token * d + j] = total_in(module_stage::logits, sums[d + j]);
    }
  }
  out.a = mapped<R>(out.g, [&](const R& g) { return in_stage<R>(module_stage::logits, steps.gate, g); });
  return out;
}

template <class R, class H, class Rest>
fields<R> heinsen::embed_position(const H& to_logits, const Rest& to_tokens, const field<R>& x, const field<R>& s0,
                                  const scheme<R>& steps) {
  const logits<R> l = logits_of(to_logits, x, steps);
  const auto scan = [&](const field<R>& a, const field<R>& h, const field<R>& first) {
    return run(a, h, first, steps);
  };
  states<R> state = in_stage<R>(module_stage::scan, scan, l.a, l.h, s0);
  const field<R> s = taken_by(module_stage::output, module_stage::scan, std::move(state.s));
  const std::size_t tokens = x.shape(0) * x.shape(1), e = x.shape(2), d = l.a.shape(2);
  field<R> y = x;
  for (std::size_t token = 0; token < tokens; ++token) {
    accumulators<R> sums(e);
    to_tokens.accumulate({s.data() + token * d, d}, sums);
    for (std::size_t k = 0; k < e; ++k) {
      sums[k].add(x.storage()[token * e + k]);
      y.storage()[token * e + k] = total_in(module_stage::output, sums[k]);
    }
  }
  return {{"y", std::move(y)}, {"s_n", std::move(state.s_n)}};
}

/// Let gamma = w lambda sigmoid(-g) and eta = v lambda (adjoint.hpp). Then the cotangent of s is W_R^T ybar, W_R-bar =
/// sum ybar s^T, W_H-bar = sum [gamma; eta] x^T, and xbar = ybar + W_H^T [gamma; eta]. The gradients of biases are the
/// same sums without s and x.
template <class R, class H, class Rest>
heinsen::module_gradients<R, H, Rest> heinsen::embed_position_vjp(const H& to_logits, const Rest& to_tokens,
                                                                  const field<R>& x, const field<R>& s0,
                                                                  const field<R>& grad_y, const field<R>& grad_s_n,
                                                                  const scheme<R>& steps) {
  const logits<R> l = logits_of(to_logits, x, steps);
  using stage = module_stage;
  const auto scan = [&](const field<R>& a, const field<R>& h, const field<R>& first) {
    return run(a, h, first, steps);
  };
  const field<R> s = in_stage<R>(stage::scan, scan, l.a, l.h, s0).s;
  const field<R> s_taken = taken_by(stage::output, stage::scan, s);
  const std::size_t tokens = x.shape(0) * x.shape(1), e = x.shape(2), d = l.a.shape(2);
  module_gradients<R, H, Rest> out{x, {}, typename H::gradients(to_logits), typename Rest::gradients(to_tokens)};

  field<R> grad_s = s;
  std::vector<R> cotangent(e), grad_logits(2 * d);
  const auto load_cotangent = [&](std::size_t token) {
    for (std::size_t k = 0; k < e; ++k) cotangent[k] = by_magnitude(grad_y.storage()[token * e + k]);
  };
  for (std::size_t token = 0; token < tokens; ++token) {
    load_cotangent(token);
    accumulators<R> sums(d);
    to_tokens.pull_back({s_taken.data() + token * d, d}, cotangent, sums, out.tokens_gradients);
    for (std::size_t j = 0; j < d; ++j) grad_s.storage()[token * d + j] = total_in(stage::output, sums[j]);
  }
  const auto back = [&](const field<R>& a, const field<R>& h, const field<R>& first, const field<R>& after,
                        const field<R>& grad_states, const field<R>& grad_last_states) {
    return run_back(a, h, first, after, grad_states, grad_last_states, steps);
  };
  gradients<R> grad = in_stage<R>(stage::scan, back, l.a, l.h, s0, s, grad_s, grad_s_n);
  out.s0 = std::move(grad.s0);
  for (std::size_t token = 0; token < tokens; ++token) {
    for (std::size_t j = 0; j < d; ++j) {
      const std::size_t index = token * d + j;
      const auto gate_gradient = [&](const R& grad_a, const R& g) { return grad_a * steps.gate_slope(g); };
      grad_logits[j] = in_stage<R>(stage::logits, gate_gradient,
                                   taken_by(stage::logits, stage::scan, grad.a.storage()[index]), l.g.storage()[index]);
      grad_logits[d + j] = taken_by(stage::logits, stage::scan, grad.h.storage()[index]);
    }
    load_cotangent(token);
    accumulators<R> sums(e);
    to_logits.pull_back({x.data() + token * e, e}, grad_logits, sums, out.logits_gradients);
    for (std::size_t k = 0; k < e; ++k) {
      sums[k].add(cotangent[k]);
      out.x.storage()[token * e + k] = total_in(stage::logits, sums[k]);
    }
  }
  return out;
}

/// The inputs of a scan: the given decay, and its logarithm a.
template <heinsen::decay Decay, class R>
struct heinsen::scan_inputs {
  static constexpr const char* name = Decay == decay::gate ? "g" : "log_p";
  const field<R>&given, &h, &s0;
  field<R> a;

  scan_inputs(const arguments<R>& call, const scheme<R>& steps)
      : given(call[name]), h(call["h"]), s0(call["s0"]), a(Decay == decay::gate ? mapped(given, steps.gate) : given) {}
  /// Multiplies a derivative in a, or along a, by the slope of the gate.
  [[nodiscard]] field<R> through_gate(field<R> gradient, const scheme<R>& steps) const {
    if constexpr (Decay == decay::gate)
      for (std::size_t i = 0; i < gradient.size(); ++i)
        gradient.storage()[i] = gradient.storage()[i] * steps.gate_slope(given.storage()[i]);
    return gradient;
  }
};

template <heinsen::decay Decay, class R>
fields<R> heinsen::scan(const arguments<R>& call, const scheme<R>& steps) {
  const scan_inputs<Decay, R> in(call, steps);
  states<R> state = run(in.a, in.h, in.s0, steps);
  return {{"s", std::move(state.s)}, {"s_n", std::move(state.s_n)}};
}

template <heinsen::decay Decay, class R>
fields<R> heinsen::scan_vjp(const arguments<R>& call, const scheme<R>& steps) {
  const scan_inputs<Decay, R> in(call, steps);
  const states<R> state = run(in.a, in.h, in.s0, steps);
  gradients<R> grad = run_back(in.a, in.h, in.s0, state.s, call["grad_s"], call["grad_s_n"], steps);
  return {{std::string("grad_") + in.name, in.through_gate(std::move(grad.a), steps)},
          {"grad_h", std::move(grad.h)},
          {"grad_s0", std::move(grad.s0)}};
}

template <heinsen::decay Decay, class R>
fields<R> heinsen::scan_jvp(const arguments<R>& call, const scheme<R>& steps) {
  const scan_inputs<Decay, R> in(call, steps);
  const states<R> state = run(in.a, in.h, in.s0, steps);
  const gradients<R> direction{in.through_gate(call[(std::string("tangent_") + in.name).c_str()], steps),
                               call["tangent_h"], call["tangent_s0"]};
  states<R> tangents = run_tangent(in.a, in.h, in.s0, state.s, direction, steps);
  return {{"tangent_s", std::move(tangents.s)}, {"tangent_s_n", std::move(tangents.s_n)}};
}

template <class R>
fields<R> heinsen::module_forward(const arguments<R>& call, const scheme<R>& steps) {
  const affine_map<R> to_logits(call["W_H"], call["b_H"]), to_tokens(call["W_R"], call["b_R"]);
  return embed_position(to_logits, to_tokens, call["x"], call["s0"], steps);
}

template <class R>
fields<R> heinsen::module_vjp(const arguments<R>& call, const scheme<R>& steps) {
  const affine_map<R> to_logits(call["W_H"], call["b_H"]), to_tokens(call["W_R"], call["b_R"]);
  const auto grad =
      embed_position_vjp(to_logits, to_tokens, call["x"], call["s0"], call["grad_y"], call["grad_s_n"], steps);
  const auto shape_of = [&](const char* name) {
    return core::shape{call[name].shape().begin(), call[name].shape().end()};
  };
  return {{"grad_x", grad.x},
          {"grad_s0", grad.s0},
          {"grad_W_H", totals(module_stage::logits, grad.logits_gradients.weight, shape_of("W_H"))},
          {"grad_b_H", totals(module_stage::logits, grad.logits_gradients.bias, shape_of("b_H"))},
          {"grad_W_R", totals(module_stage::output, grad.tokens_gradients.weight, shape_of("W_R"))},
          {"grad_b_R", totals(module_stage::output, grad.tokens_gradients.bias, shape_of("b_R"))}};
}

}  // namespace assay::reference::encodings
