// Ways to scan logarithms, and to scan positive states by factors or by their logarithms. Arrays are [n, B, d]: the
// first axis is that of turns, one for each token.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "reference/formula/recording.hpp"

namespace assay::reference::log_scans {

using formula::traced;
inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// The share of the state that is kept and the share of the new input that is taken, as factors or as logarithms.
struct shares {
  traced kept, taken;
};

// Shares from one gate logit, or from two.

inline shares complementary(const traced& k) { return {sigmoid(-k), sigmoid(k)}; }
/// Shares from two gate logits. For equal logits each share is 1/2, and quotients of rounded sigmoids are 1/2, too; but
/// no enclosure proves this. There the tangent is used.
inline shares normalized(const traced& f, const traced& i) {
  const traced share_of_f = sigmoid(f), share_of_i = sigmoid(i), both = share_of_f + share_of_i;
  const auto share = [&](const traced& own, const traced& other, const traced& x) {
    const traced quotient = x / both, tangent = traced(0.5) + traced(0.25) * sigmoid(-own) * (own - other);
    return with_gradient_of(either(equal(f, i), tangent, quotient), quotient);
  };
  return {share(f, i, share_of_f), share(i, f, share_of_i)};
}
inline shares log_complementary(const traced& k) { return {log_sigmoid(-k), log_sigmoid(k)}; }
inline shares log_normalized(const traced& f, const traced& i) {
  return log_complementary(softplus(-f) - softplus(-i));
}

// Logarithms of cumulative sums.

/// -inf for each lane of x [n, B, d].
inline traced nothing_before(const traced& x) {
  const core::shape s = shape_of(x);
  return broadcast(traced(-infinity), {s[1], s[2]});
}
/// The states of all turns [n, ...], each made by `turn` from the state before it.
inline traced step_through(const traced& first, const std::vector<traced>& stepped,
                           const std::function<traced(const traced& s, const std::vector<traced>& now)>& turn) {
  const auto once = [&](const std::vector<traced>& carried, const std::vector<traced>& now) {
    const traced s = turn(carried[0], now);
    return formula::loop_turn{{s}, {s}};
  };
  return formula::looped(shape_of(stepped[0])[0], {first}, stepped, once).given[0];
}

inline traced step_by_step(const traced& x) {
  return step_through(nothing_before(x), {x}, [](const traced& s, const auto& now) { return log_sum_exp(s, now[0]); });
}
/// The elements of the first turns, and the elements from one turn on.
inline traced first_of(const traced& x, std::size_t count) { return between(x, 0, 0, count); }
inline traced from(const traced& x, std::size_t first) { return between(x, 0, first, shape_of(x)[0]); }
inline traced by_doubling(const traced& x) {
  const std::size_t n = shape_of(x)[0];
  traced y = log_sum_exp(traced(-infinity), x);
  for (std::size_t stride = 1; stride < n; stride *= 2)
    y = formula::joined({first_of(y, stride), log_sum_exp(first_of(y, n - stride), from(y, stride))}, 0);
  return y;
}
/// log sum exp(x - m) + m, where m is the largest x so far.
inline traced by_running_maximum(const traced& x) {
  const auto turn = [](const std::vector<traced>& carried, const std::vector<traced>& now) {
    const traced largest = detach(larger(carried[0], now[0])), zero(0.0), end(infinity);
    const auto is_infinite = [&](const traced& m) { return equal(m, end) || equal(m, -end); };
    const auto shift_of = [&](const traced& m) { return either(is_infinite(m), zero, m); };
    const traced shift = shift_of(largest), moved = either(is_infinite(carried[0]), zero, carried[0] - shift);
    const traced sum = carried[1] * exp(moved) + exp(now[0] - shift);
    return formula::loop_turn{{largest, sum}, {log(sum) + shift}};
  };
  const traced first = nothing_before(x);
  return formula::looped(shape_of(x)[0], {first, exp(first)}, {x}, turn).given[0];
}
/// y = log(exp(s) + exp(x)), whose slopes are computed as exp(s - y) and exp(x - y) from rounded logarithms. Programs
/// may keep the cotangent as a logarithm, too, whose magnitude counts as at most 16.
inline traced added_as_logarithms(const traced& s, const traced& x) {
  const traced y = log_sum_exp(s, x), zero(0.0), none(-infinity);
  const auto part = [&](const traced& own) {
    const auto is_nothing = equal(own, none);
    const traced kept = either(is_nothing, zero, own), top = either(equal(y, none), zero, y);
    const traced exponent = off_by(off_by(off_by(kept - top, top), kept), traced(16.0));
    return detach(either(is_nothing, zero, exp(exponent))) * own;
  };
  return with_gradient_of(y, part(s) + part(x));
}
/// Step by step, with gradients by exp(x - y).
inline traced by_differences(const traced& x) {
  return step_through(nothing_before(x), {x},
                      [](const traced& s, const auto& now) { return added_as_logarithms(s, now[0]); });
}

// States h = kept h + taken g.

inline traced recurrence(const shares& factors, const shares&, const traced& g, const traced& h0) {
  return step_through(h0, {factors.kept, factors.taken * g},
                      [](const traced& h, const auto& now) { return now[0] * h + now[1]; });
}
inline traced by_maps(const shares& factors, const shares&, const traced& g, const traced& h0) {
  traced a = factors.kept, b = factors.taken * g;
  const std::size_t n = shape_of(a)[0];
  for (std::size_t stride = 1; stride < n; stride *= 2) {
    const traced own = from(a, stride);
    b = formula::joined({first_of(b, stride), own * first_of(b, n - stride) + from(b, stride)}, 0);
    a = formula::joined({first_of(a, stride), first_of(a, n - stride) * own}, 0);
  }
  return a * h0 + b;
}
inline traced by_logarithms(const shares&, const shares& logs, const traced& g, const traced& h0) {
  return exp(step_through(log(h0), {logs.kept, logs.taken + log(g)},
                          [](const traced& s, const auto& now) { return log_sum_exp(now[0] + s, now[1]); }));
}
inline traced by_interpolation(const shares& factors, const shares& logs, const traced& g, const traced& h0) {
  const traced h =
      step_through(h0, {factors.taken, g}, [](const traced& s, const auto& now) { return s + now[0] * (now[1] - s); });
  return covering(h, [&] { return by_logarithms(factors, logs, g, h0); });
}
inline traced by_cumulative_sums(const shares&, const shares& logs, const traced& g, const traced& h0) {
  const traced sums = cumulative_sum(logs.kept, 0);
  return exp(sums + step_through(log(h0), {logs.taken + log(g) - sums},
                                 [](const traced& s, const auto& now) { return added_as_logarithms(s, now[0]); }));
}

}  // namespace assay::reference::log_scans
