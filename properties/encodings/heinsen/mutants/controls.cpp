// Controls: right implementations that compute otherwise than the reference. The gate must never fail one.
#include <cmath>

#include "properties/encodings/heinsen/mutants/mutants.hpp"
#include "properties/encodings/heinsen/mutants/recipes.hpp"
#include "reference/core/counter_random.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

template <class R, class Prefixes>
void scan_by(Prefixes prefixes_of, const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  const auto prefixes = prefixes_of(elements_with_state(a, h, s0));
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = prefixes[i + 1].input;
}

struct odd_chunks : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>(chunked_tree_scan<37, R>);
  }
};

struct doubling_tree : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how = with_scan<R>(doubling_tree_scan<R>);
    how.adjoint = scan_adjoint<exp_form, R>;
    return how;
  }
};

struct two_sweeps : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      scan_by<R>([](const auto& x) { return blelloch_prefixes(x); }, a, h, s0, s);
    });
  }
};

struct random_brackets : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      core::counter_random random(s.size());
      const auto split = [&](std::size_t m) { return 1 + random.below(m - 1); };
      scan_by<R>([&](const auto& x) { return bracketed_prefixes(x, split); }, a, h, s0, s);
    });
  }
};

struct double_inside : unchanged_heinsen {
  static core::dtype arithmetic(core::dtype) { return core::dtype::f64; }
};

struct rounded_at_each_step : unchanged_heinsen {
  static core::dtype arithmetic(core::dtype storage) { return storage; }
};

// X = m 2^k with m in [1, 2), or 0: the linear domain with the exponent kept apart.
template <class R>
struct scaled {
  R mantissa{0.0};
  double exponent = 0;

  static scaled of(const R& m, double k) {
    if (m.number == 0.0 || !std::isfinite(m.number)) return {m, 0};
    const int e = std::ilogb(m.number);
    return {R(std::ldexp(m.number, -e)), k + e};
  }
  /// e^x = 2^k e^(x - k log 2).
  static scaled exponential(const R& x) {
    if (!std::isfinite(x.number)) return {exp(x), 0};
    const double k = std::nearbyint(x.number / M_LN2);
    return of(exp(x - R(k * M_LN2)), k);
  }
  friend scaled operator*(const scaled& x, const scaled& y) {
    return of(x.mantissa * y.mantissa, x.exponent + y.exponent);
  }
  friend scaled operator+(const scaled& x, const scaled& y) {
    if (x.mantissa.number == 0.0) return y;
    if (y.mantissa.number == 0.0) return x;
    const scaled &large = x.exponent < y.exponent ? y : x, &small = x.exponent < y.exponent ? x : y;
    const double gap = std::max(small.exponent - large.exponent, -4000.0);
    return of(large.mantissa + R(std::ldexp(small.mantissa.number, static_cast<int>(gap))), large.exponent);
  }
  R logarithm() const { return log(mantissa) + R(exponent * M_LN2); }
};

struct mantissa_and_exponent : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how =
        with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
          auto x = scaled<R>::exponential(s0);
          for (std::size_t i = 0; i < s.size(); ++i) {
            x = scaled<R>::exponential(a[i]) * x + scaled<R>::exponential(h[i]);
            s[i] = x.logarithm();
          }
        });
    how.adjoint = scan_adjoint<exp_form, R>;
    how.tangent = scan_tangent<exp_form, R>;
    return how;
  }
};

// X = e^s without any shift, as much public code has it, its adjoint lambda_i = gbar_i / X_i + p_{i+1} lambda_{i+1}, and
// its derivative dX_i = p_i (dX_{i-1} + X_{i-1} da_i) + e^{h_i} dh_i.
struct linear_states : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how =
        with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
          R x = exp(s0);
          for (std::size_t i = 0; i < s.size(); ++i) {
            x = exp(a[i]) * x + exp(h[i]);
            s[i] = log(x);
          }
        });
    how.adjoint = [](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R>, const_lane<R> grad_s,
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
    how.tangent = [](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R>, scan_direction<R> d, lane<R> ds) {
      R x = exp(s0), dx = x * d.s0;
      for (std::size_t i = 0; i < ds.size(); ++i) {
        const R p = exp(a[i]), entering = exp(h[i]);
        dx = p * (dx + x * d.a[i]) + entering * d.h[i];
        x = p * x + entering;
        ds[i] = dx / x;
      }
    };
    how.state_kept = [](const R& s0) { return log(exp(s0)); };
    how.tangent_kept = [](const R& s0, const R& of_s0) { return exp(s0) * of_s0 / exp(s0); };
    return how;
  }
  // The range of e^s in f32.
  static void declare(description& about) {
    for (const auto& [name, types] : about.operations) {
      const core::operation& op = *reference::find_operation(name);
      about.domain[name] = {{"state", {-80, 80}}};
      for (const char* input : {"h", "s0"})
        if (op.input(input)) about.domain[name][input] = {-80, 80};
      if (op.input("log_p")) about.domain[name]["log_p"] = {-80, 0};
      if (op.input("g")) about.domain[name]["g"] = {-80, 80};
    }
  }
};

// The state as an unevaluated sum of two numbers (Knuth's two-sum), so that adding small updates loses nothing.
template <class R>
struct two_parts {
  R high, low{0.0};
  static two_parts sum(const R& x, const R& y) {
    const R s = x + y;
    if (!std::isfinite(s.number)) return {s};
    const R of_y = s - x;
    return {s, (x - (s - of_y)) + (y - of_y)};
  }
  two_parts plus(const R& y) const {
    const two_parts s = sum(high, y);
    return std::isfinite(s.high.number) ? sum(s.high, s.low + low) : s;
  }
};

struct compensated_state : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      two_parts<R> state{s0};
      for (std::size_t i = 0; i < s.size(); ++i) {
        const two_parts<R> t = state.plus(a[i]);
        const bool one_is_all = !std::isfinite(t.high.number) || !std::isfinite(h[i].number);
        if (one_is_all) {
          state = is_minus_infinity(h[i]) ? t : two_parts<R>{log_sum_exp(t.high, h[i])};
        } else {
          const R gap = (t.high - h[i]) + t.low;
          const bool past_leads = gap.number >= 0.0;
          const two_parts<R> leading = past_leads ? t : two_parts<R>{h[i]};
          state = leading.plus(log1p(exp(past_leads ? -gap : gap)));
        }
        s[i] = state.high;
      }
    });
  }
};

// Positive and negative cotangents as logarithms, apart.
struct logarithmic_adjoint : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_adjoint<R>([](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
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
        // A dead state passes nothing on; where one term is -inf the other has the weight 1.
        const bool no_past = is_minus_infinity(t), no_input = is_minus_infinity(h[i]);
        const R log_w = no_past ? none : no_input ? R(0.0) : t - s[i];
        const R log_v = no_input ? none : no_past ? R(0.0) : h[i] - s[i];
        grad.h[i] = exp(plus + log_v) - exp(minus + log_v);
        plus = plus + log_w;
        minus = minus + log_w;
        grad.a[i] = exp(plus) - exp(minus);
      }
      grad.s0 = s.size() == 0 ? grad_last : exp(plus) - exp(minus);
    });
  }
};

// Two prefix sums in each chunk of 64 tokens: what many kernels do to bound |A|.
struct prefix_sums_in_chunks : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      constexpr std::size_t chunk = 64;
      prefix_sums<R> sums(s0);
      for (std::size_t i = 0; i < s.size(); ++i) {
        if (i > 0 && i % chunk == 0) sums = prefix_sums<R>(R(s[i - 1]));
        s[i] = sums.step(a[i], h[i]);
      }
    });
  }
  // No answer at log p = -inf: inf - inf.
  static void declare(description& about) {
    for (const auto& [name, types] : about.operations) {
      const core::operation& op = *reference::find_operation(name);
      about.domain[name] = {{"state", {}}};
      for (const char* gate : {"log_p", "g"})
        if (op.input(gate)) about.domain[name][gate] = {};
    }
  }
};

struct gate_by_log_of_sum : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how;
    how.gate = [](const R& g) {
      const R loss = log(R(1.0) + exp(R(-std::fabs(g.number))));
      return g.number < 0.0 ? g - loss : -loss;
    };
    return how;
  }
};

}  // namespace

std::vector<variant> controls() {
  return {
      make_variant<odd_chunks>("control/odd_chunks", "trees in chunks of 37 tokens", "right: another association"),
      make_variant<doubling_tree>("control/doubling_tree",
                                  "strides double (Hillis and Steele 1986); weights exp(t - s)",
                                  "right: another association, another adjoint"),
      make_variant<two_sweeps>("control/two_sweeps", "up-sweep and down-sweep (Blelloch 1990)",
                               "right: another association"),
      make_variant<random_brackets>("control/random_brackets", "a random tree for each length",
                                    "right: another association"),
      make_variant<double_inside>("control/double_inside", "f64 arithmetic in every dtype",
                                  "right: more precise than asked, and declared"),
      make_variant<rounded_at_each_step>("control/rounded_at_each_step", "CT08 pytorch/pytorch#141802",
                                         "right: f16 and bf16 arithmetic, declared"),
      make_variant<mantissa_and_exponent>("control/mantissa_and_exponent",
                                          "the linear domain as m 2^k, the exponent apart", "right: of class linear"),
      make_variant<linear_states>("control/linear_states", "X = e^s without a shift; h, s0 and log p within 80",
                                  "right: of class linear"),
      make_variant<compensated_state>("control/compensated_state", "the state as a sum of two numbers",
                                      "right: more precise than step by step"),
      make_variant<logarithmic_adjoint>("control/logarithmic_adjoint",
                                        "the adjoint as a difference of two logarithmic recurrences",
                                        "right: what automatic differentiation of log-domain code does"),
      make_variant<prefix_sums_in_chunks>("control/prefix_sums_in_chunks", "prefix sums in chunks of 64",
                                          "right: prefix sums that do not grow with n"),
      make_variant<gate_by_log_of_sum>("control/gate_by_log_of_sum", "log(1 + exp(-g)) for the gate",
                                       "right: of class linear"),
      make_variant<usual_stages<reference::encodings::heinsen>>("control/usual_stages", "torch.autocast",
                                                                "right: f16 and bf16 linear maps, states in f32"),
  };
}

}  // namespace assay::properties::encodings::heinsen
