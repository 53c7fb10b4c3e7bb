// Controls: right implementations that compute in other ways than the reference. The gate must never fail one.
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/encodings/heinsen/mutants/linear_trees.hpp"
#include "reference/core/counter_random.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the schemes below are written in its vocabulary
using namespace reference::encodings;

using affine_steps = std::vector<affine_step<R>>;
// Another way to compute the prefix products of the steps.
scheme_change<scan_scheme> with_prefixes(affine_steps (*prefixes_of)(const affine_steps& x)) {
  return with_scan([prefixes_of](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
    const affine_steps prefixes = prefixes_of(elements_with_state(a, h, s0));
    for (std::size_t i = 0; i < s.size(); ++i) s[i] = prefixes[i + 1].input;
  });
}
affine_steps random_brackets(const affine_steps& x) {
  core::counter_random random(x.size() - 1);
  const auto split = [&](std::size_t m) { return 1 + random.below(m - 1); };
  return bracketed_prefixes(x, split);
}

// X = m 2^k with m in [1, 2), or 0: the linear domain with a separate exponent.
struct scaled {
  R mantissa{0.0};
  double exponent = 0;

  static scaled normalized(const R& m, double k) {
    if (m.number == 0.0 || !std::isfinite(m.number)) return {m, 0};
    const int e = std::ilogb(m.number);
    return {R(std::ldexp(m.number, -e)), k + e};
  }
  /// e^x = 2^k e^(x - k log 2).
  static scaled exponential(const R& x) {
    if (!std::isfinite(x.number)) return {exp(x), 0};
    const double k = std::nearbyint(x.number / M_LN2);
    return normalized(exp(x - R(k * M_LN2)), k);
  }
  friend scaled operator*(const scaled& x, const scaled& y) {
    return normalized(x.mantissa * y.mantissa, x.exponent + y.exponent);
  }
  friend scaled operator+(const scaled& x, const scaled& y) {
    if (x.mantissa.number == 0.0) return y;
    if (y.mantissa.number == 0.0) return x;
    const scaled &large = x.exponent < y.exponent ? y : x, &small = x.exponent < y.exponent ? x : y;
    const double gap = std::max(small.exponent - large.exponent, -4000.0);
    return normalized(large.mantissa + R(std::ldexp(small.mantissa.number, static_cast<int>(gap))), large.exponent);
  }
  R logarithm() const { return log(mantissa) + R(exponent * M_LN2); }
};
void scan_by_mantissa_and_exponent(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  auto x = scaled::exponential(s0);
  for (std::size_t i = 0; i < s.size(); ++i) {
    x = scaled::exponential(a[i]) * x + scaled::exponential(h[i]);
    s[i] = x.logarithm();
  }
}

// X = e^s without any shift, as in much public code; its adjoint lambda_i = gbar_i / X_i + p_{i+1} lambda_{i+1}; and
// its derivative dX_i = p_i (dX_{i-1} + X_{i-1} da_i) + e^{h_i} dh_i.
void linear_states(scan_scheme& scheme) {
  scheme.scan = [](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
    R x = exp(s0);
    for (std::size_t i = 0; i < s.size(); ++i) {
      x = exp(a[i]) * x + exp(h[i]);
      s[i] = log(x);
    }
  };
  scheme.adjoint = [](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R>, const_lane<R> grad_s,
                      const R& grad_last, scan_gradients<R> grad) {
    const std::size_t n = grad_s.size();
    std::vector<R> x{exp(s0)};
    for (std::size_t i = 0; i < n; ++i) x.push_back(exp(a[i]) * x[i] + exp(h[i]));
    R carried(0.0);
    grad.s0 = x[0].number == 0 ? grad_last : grad_last / x[0] * x[0];
    for (std::size_t i = n; i-- > 0;) {
      const R lambda = (i + 1 == n ? grad_s[i] + grad_last : grad_s[i]) / x[i + 1] + carried;
      carried = exp(a[i]) * lambda;
      grad.h[i] = exp(h[i]) * lambda;
      grad.a[i] = carried * x[i];
      grad.s0 = grad.a[i];
    }
  };
  scheme.tangent = [](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R>, scan_direction<R> d, lane<R> ds) {
    R x = exp(s0), dx = x * d.s0;
    for (std::size_t i = 0; i < ds.size(); ++i) {
      const R p = exp(a[i]), entering = exp(h[i]);
      dx = p * (dx + x * d.a[i]) + entering * d.h[i];
      x = p * x + entering;
      ds[i] = dx / x;
    }
  };
  scheme.state_kept = [](const R& s0) { return log(exp(s0)); };
  scheme.tangent_kept = [](const R& s0, const R& ds0) { return exp(s0) * ds0 / exp(s0); };
}

// The state as an unevaluated sum of two numbers (Knuth's two-sum), so that small updates are not lost.
struct two_parts {
  R high, low{0.0};
  static two_parts sum(const R& x, const R& y) {
    const R s = x + y;
    if (!std::isfinite(s.number)) return {s};
    const R y_part = s - x;
    return {s, (x - (s - y_part)) + (y - y_part)};
  }
  two_parts plus(const R& y) const {
    const two_parts s = sum(high, y);
    return std::isfinite(s.high.number) ? sum(s.high, s.low + low) : s;
  }
};
void scan_in_two_parts(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  two_parts state{s0};
  for (std::size_t i = 0; i < s.size(); ++i) {
    const two_parts t = state.plus(a[i]);
    const bool one_is_all = !std::isfinite(t.high.number) || !std::isfinite(h[i].number);
    if (one_is_all) {
      state = is_minus_infinity(h[i]) ? t : two_parts{log_sum_exp(t.high, h[i])};
    } else {
      const R gap = (t.high - h[i]) + t.low;
      const bool past_leads = gap.number >= 0.0;
      const two_parts leading = past_leads ? t : two_parts{h[i]};
      state = leading.plus(log1p(exp(past_leads ? -gap : gap)));
    }
    s[i] = state.high;
  }
}

// Positive and negative cotangents are kept apart, as logarithms.
void logarithmic_adjoint(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                         const R& grad_last, scan_gradients<R> grad) {
  const R none(-std::numeric_limits<double>::infinity());
  const auto log_of = [&](const R& x) {
    return is_positive(x) ? log(x) : x.number < 0.0 || x.number == 0.0 ? none : x;
  };
  R plus = log_of(grad_last), minus = log_of(-grad_last);
  for (std::size_t i = s.size(); i-- > 0;) {
    plus = log_sum_exp(plus, log_of(grad_s[i]));
    minus = log_sum_exp(minus, log_of(-grad_s[i]));
    const R t = a[i] + (i == 0 ? s0 : s[i - 1]);
    // A state of -inf passes nothing on; if one term is -inf, the other has the weight 1.
    const bool no_past = is_minus_infinity(t), no_input = is_minus_infinity(h[i]);
    const R log_w = no_past ? none : no_input ? R(0.0) : t - s[i];
    const R log_v = no_input ? none : no_past ? R(0.0) : h[i] - s[i];
    grad.h[i] = exp(plus + log_v) - exp(minus + log_v);
    plus = plus + log_w;
    minus = minus + log_w;
    grad.a[i] = exp(plus) - exp(minus);
  }
  grad.s0 = s.size() == 0 ? grad_last : exp(plus) - exp(minus);
}

// Two prefix sums in each chunk of 64 tokens: many kernels bound |A| in this way.
void scan_by_prefix_sums_in_chunks(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  prefix_sums<R> sums(s0);
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (i > 0 && i % 64 == 0) sums = prefix_sums<R>(R(s[i - 1]));
    s[i] = sums.step(a[i], h[i]);
  }
}

R gate_by_log_of_sum(const R& g) {
  const R loss = log(R(1.0) + exp(R(-std::fabs(g.number))));
  return g.number < 0.0 ? g - loss : -loss;
}

}  // namespace

void declare_domain(description& about, const std::map<std::string, declared_domain>& domain) {
  for (const auto& [name, types] : about.operations)
    for (const auto& [what, interval] : domain)
      if (what == "state" || reference::find_operation(name)->input(what)) about.domain[name][what] = interval;
}

std::vector<variant> controls() {
  return {
      changed_heinsen("control/odd_chunks", "trees in chunks of 37 tokens", "right: another association",
                      {.formula = with_scan(chunked_tree_scan<37, R>)}),
      changed_heinsen("control/doubling_tree", "strides double (Hillis and Steele 1986); weights exp(t - s)",
                      "right: another association, another adjoint",
                      {.formula =
                           [](scan_scheme& scheme) {
                             scheme.scan = doubling_tree_scan<R>;
                             scheme.adjoint = scan_adjoint<exp_form, R>;
                           }}),
      changed_heinsen("control/two_sweeps", "up-sweep and down-sweep (Blelloch 1990)", "right: another association",
                      {.formula = with_prefixes(blelloch_prefixes<affine_step<R>>)}),
      changed_heinsen("control/random_brackets", "a random tree for each length", "right: another association",
                      {.formula = with_prefixes(random_brackets)}),
      changed_heinsen("control/double_inside", "f64 arithmetic in every dtype",
                      "right: more precise than asked, and declared", {.arithmetic = in_f64}),
      changed_heinsen("control/rounded_at_each_step", "pytorch/pytorch#141802",
                      "right: f16 and bf16 arithmetic, declared", {.arithmetic = in_storage}),
      changed_heinsen("control/mantissa_and_exponent", "the linear domain as m 2^k, the exponent apart",
                      "right: of class linear",
                      {.formula =
                           [](scan_scheme& scheme) {
                             scheme.scan = scan_by_mantissa_and_exponent;
                             scheme.adjoint = scan_adjoint<exp_form, R>;
                             scheme.tangent = scan_tangent<exp_form, R>;
                           }}),
      // The interval keeps e^s in the range of f32.
      changed_heinsen(
          "control/linear_states", "X = e^s without a shift; h, s0 and log p within 80", "right: of class linear",
          {.formula = linear_states,
           .declared =
               [](description& about) {
                 const declared_domain within{-80, 80};
                 declare_domain(about,
                                {{"state", within}, {"h", within}, {"s0", within}, {"log_p", {-80, 0}}, {"g", within}});
               }}),
      // Products of states and cotangents in gradients stay in the range of f32; those of gates do not.
      changed_heinsen(
          "control/linear_tree", "X = e^s without a shift by a tree, as mamba.py, S5 and assoc-scan; within 30",
          "right: of class linear",
          {.formula = in_linear_tree(products_by_doubling),
           .declared =
               [](description& about) {
                 const declared_domain within{-30, 30};
                 declare_domain(about, {{"state", within}, {"h", within}, {"s0", within}, {"log_p", {}}, {"g", {}}});
               }}),
      changed_heinsen("control/compensated_state", "the state as a sum of two numbers",
                      "right: more precise than step by step", {.formula = with_scan(scan_in_two_parts)}),
      changed_heinsen("control/logarithmic_adjoint", "the adjoint as a difference of two logarithmic recurrences",
                      "right: what automatic differentiation of log-domain code does",
                      {.formula = with_adjoint(logarithmic_adjoint)}),
      // There is no answer at log p = -inf: inf - inf.
      changed_heinsen("control/prefix_sums_in_chunks", "prefix sums in chunks of 64",
                      "right: prefix sums that do not grow with n",
                      {.formula = with_scan(scan_by_prefix_sums_in_chunks),
                       .declared =
                           [](description& about) {
                             declare_domain(about, {{"state", {}}, {"log_p", {}}, {"g", {}}});
                           }}),
      changed_heinsen("control/gate_by_log_of_sum", "log(1 + exp(-g)) for the gate", "right: of class linear",
                      {.formula = [](scan_scheme& scheme) { scheme.gate = gate_by_log_of_sum; }}),
      changed_heinsen("control/usual_stages", "torch.autocast", "right: f16 and bf16 linear maps, states in f32",
                      {.arithmetic = in_usual_stages, .declared = nothing_declared}),
  };
}

}  // namespace assay::properties::encodings::heinsen
