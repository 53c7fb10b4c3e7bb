// Gradients of the recurrence: their error, how far they reach, and the effect of errors of the inputs on the states.
#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>

#include "reference/algorithms/adjoint.hpp"
#include "reference/algorithms/scans.hpp"
#include "reference/readings/ball.hpp"
#include "reference/readings/rounded.hpp"
#include "tools/explore/heinsen/parts.hpp"
#include "tools/explore/heinsen/streams.hpp"
#include "tools/explore/single_cells.hpp"

namespace assay::explore {
namespace {

using R = reference::rounded;
using ball = reference::two_double_ball;

constexpr std::size_t gradient_lanes = 4;

template <class T>
struct gradient {
  std::vector<T> a, h;
};

template <class T, class Adjoint>
gradient<T> gradient_of(const std::vector<double>& a, const std::vector<double>& h, const std::vector<double>& upstream,
                        Adjoint adjoint) {
  const std::size_t n = a.size();
  std::vector<T> ta, th, tg, s(n);
  for (std::size_t i = 0; i < n; ++i) ta.emplace_back(a[i]), th.emplace_back(h[i]), tg.emplace_back(upstream[i]);
  gradient<T> out{std::vector<T>(n), std::vector<T>(n)};
  reference::sequential_scan<T>({ta.data(), 1, n}, {th.data(), 1, n}, T(0.0), {s.data(), 1, n});
  T grad_s0;
  adjoint({ta.data(), 1, n}, {th.data(), 1, n}, T(0.0), {s.data(), 1, n}, {tg.data(), 1, n}, T(0.0),
          reference::scan_gradients<T>{{out.a.data(), 1, n}, {out.h.data(), 1, n}, grad_s0});
  return out;
}

// Median relative errors of d/d log p and d/dh, upstream gradients N(0, 1).
results gradient_errors(const cell& c) {
  using reference::scan_adjoint, reference::sigmoid_form, reference::cumsum_adjoint;
  std::vector<double> a(c.size), h(c.size), upstream(c.size), errors_of_a, errors_of_h;
  double log_decay = 0;
  for (std::size_t lane = 0; lane < gradient_lanes; ++lane) {
    token_stream(c, lane).next(a, h);
    core::counter_random random(c.seed * 1000 + lane);
    for (double& x : upstream) x = core::round_to(*core::dtype_named(c.storage), random.normal());
    for (const double x : a) log_decay += std::fabs(x) / gradient_lanes;
    const auto truth = gradient_of<ball>(a, h, upstream, scan_adjoint<sigmoid_form, ball>);
    const reference::computing_in format(*core::dtype_named(c.arithmetic));
    const auto found = c.implementation == "cumsum" ? gradient_of<R>(a, h, upstream, cumsum_adjoint<R>)
                                                    : gradient_of<R>(a, h, upstream, scan_adjoint<sigmoid_form, R>);
    const auto relative = [](const R& x, const ball& exact) {
      const double t = leading(exact.centre), error = std::fabs((x.number - t) - trailing(exact.centre));
      const double r = error / std::fabs(t);
      return std::isnan(r) ? std::numeric_limits<double>::infinity() : r;
    };
    for (std::size_t i = 0; i < c.size; ++i) {
      errors_of_a.push_back(relative(found.a[i], truth.a[i]));
      errors_of_h.push_back(relative(found.h[i], truth.h[i]));
    }
  }
  // A suffix sum of n terms with errors of u |A_n| each, of either sign, relative to a value of about p. The constant
  // was measured, independently of this code, for mean gate logits of 0 and -8, where s forgets within a few tokens. If
  // u |A_n| is 1, no digit is left and no law holds.
  const double p = 1.0 / (1.0 + std::exp(-c.decay)), n = static_cast<double>(c.size);
  const double u = find_format(c.storage)->unit_roundoff();
  const bool has_law = c.implementation == "cumsum" && c.decay <= 0.0 && u * log_decay < 1.0;
  return {{"median_log_p", boost::math::statistics::median(errors_of_a)},
          {"median_h", boost::math::statistics::median(errors_of_h)},
          {"log_decay", log_decay},
          {"law", has_law ? 0.3 * u * log_decay * std::sqrt(n) / p : nothing}};
}

// The number of tokens that a gradient reaches back: ds_n/ds_0 = w_1 ... w_n = p^n e^(s_0 - s_n) for constant p, h = 0.
// It ends where it is 0, or where it stops changing: w times the smallest numbers of a format rounds to the same number
// for w above 1/2, and w itself rounds to 1 for p near 1.
results reach(const cell& c) {
  const core::dtype type = *core::dtype_named(c.arithmetic);
  const reference::computing_in format(type);
  const R log_p(std::log(c.decay)), h(0.0);
  R s(0.0), product(1.0);
  double ends = nothing, below_u = nothing;
  for (std::uint64_t i = 1; i <= c.size && std::isnan(ends); ++i) {
    const R t = log_p + s, before = product;
    product = product * carry_weights(t - h).w;
    s = log_sum_exp(t, h);
    if (product.number < core::unit_roundoff(type) && std::isnan(below_u)) below_u = static_cast<double>(i);
    if (product.number == 0.0 || product.number == before.number) ends = static_cast<double>(i);
  }
  // The product is p^n (1 - p) once s_n is at its fixed point. k times the smallest number is kept for k (1 - p) up to
  // 1/2; if no k fulfils this, half the smallest number becomes 0. A weight without digits of 1 - p obeys no such law.
  const auto tokens_to = [&](double level) { return (level - std::log1p(-c.decay)) / std::log(c.decay); };
  const double kept = std::floor(0.5 / (1.0 - c.decay)), smallest = std::log(core::smallest_subnormal(type));
  const bool is_held = 1.0 - c.decay > 8.0 * core::unit_roundoff(type);
  const double law = is_held ? tokens_to(smallest + (kept > 1.0 ? std::log(kept) : -std::log(2.0))) : nothing;
  // The share of the gradient that detached chunks of 64 tokens leave out, for upstream gradients of 1. The gradient of
  // token i of a chunk (from 0) is 1 + w + w^2 + ...; if the chunk is detached, the terms from w^(64 - i) on are
  // missing.
  constexpr int chunk = 64;
  double whole = 0, lost = 0;
  for (int i = 0; i < chunk; ++i) {
    whole += 1.0 / (1.0 - c.decay);
    lost += std::pow(c.decay, chunk - i) / (1.0 - c.decay);
  }
  return {{"ends_at", ends},
          {"below_u_at", below_u},
          {"ends_with", product.number},
          {"law", law},
          {"law_below_u", is_held ? tokens_to(std::log(core::unit_roundoff(type))) : nothing},
          {"detached_loses", lost / whole}};
}

// |ds_n| for a relative change of all p, for a relative change of all log p, and for a change of all h: constant p,
// h = 0.
results condition(const cell& c) {
  constexpr double change = 0x1p-30;
  const double a = std::log(c.decay);
  const auto state = [&](double log_p, double h) {
    ball s(0.0);
    for (std::uint64_t i = 0; i < c.size; ++i) s = log_sum_exp(ball(log_p) + s, ball(h));
    return s;
  };
  const double moved_a = c.implementation == "p" ? a + std::log1p(-change) : a * (1.0 + change);
  const ball before = state(a, 0.0), after = c.implementation == "h" ? state(a, change) : state(moved_a, 0.0);
  const ball moved = after - before;
  // X = e^s = p^n + 1 + p + ... + p^(n-1) exactly: ds / d log p = p X' / X is the mean age of the remembered tokens,
  // which tends to p / (1 - p). h shifts all terms but s_0's, whose share is p^n / X.
  const double p = c.decay, n = static_cast<double>(c.size), oldest = std::pow(p, n), left = 1.0 - p;
  const double x = oldest + (1.0 - oldest) / left;
  const double sum = (p * (1.0 - oldest) / left - n * oldest) / left;
  const double age = (n * oldest + sum) / x;
  const double law = c.implementation == "p"       ? age
                     : c.implementation == "log_p" ? age * std::fabs(a)
                                                   : 1.0 - oldest / x;
  return {{"response", std::fabs(leading(moved.centre)) / change}, {"radius", moved.radius / change}, {"law", law}};
}

// A gradient that decays like p^n ends within 750 / (1 - p) tokens: the smallest number of f64 is e^-744.4.
double until_it_ends(const cell& c) { return std::min(static_cast<double>(c.size), 750 / (1.0 - c.decay)); }

core::result<void> check_p(const cell& c) {
  return c.decay > 0.0 && c.decay < 1.0 ? core::result<void>() : refuse_cell(c, "p is above 0, below 1");
}
core::result<void> check_length(const cell& c) {
  return c.size <= 1000000 ? core::result<void>()
                           : refuse_cell(c, "an adjoint holds all its states: at most 1000000 tokens");
}

}  // namespace

measure gradient_error() {
  measure m{.name = "gradient",
            .summary = "median relative error of the gradient, d/d log p and d/dh",
            .size_means = "tokens n",
            .decay_means = "mean of the gate logits",
            .scale_means = "factor of h",
            .implementations = {"adjoint", "cumsum"},
            .families = {"gates"},
            .check = check_length};
  return single_cell_measure(std::move(m), gradient_errors, every_token);
}

measure gradient_reach() {
  return single_cell_measure(
      measure{.name = "gradient_reach",
              .summary = "tokens that the gradient of a state reaches back, and what detached chunks lose",
              .size_means = "tokens tried",
              .decay_means = "p",
              .scale_means = "",
              .implementations = {"adjoint"},
              .check = check_p},
      reach, until_it_ends);
}

measure conditioning() {
  return single_cell_measure(
      measure{.name = "conditioning",
              .summary = "what a relative change of p, of log p or a change of h does to the state",
              .size_means = "tokens n",
              .decay_means = "p",
              .scale_means = "",
              .implementations = {"p", "log_p", "h"},
              .check = check_p},
      condition, every_token);
}

}  // namespace assay::explore
