// Full and truncated gradients at chunk boundaries at 100 digits: the part that detaching the state removes.
#include <catch2/catch.hpp>

#include "reference/tests/graded_lane.hpp"

using namespace assay;
using namespace assay::reference;
using namespace assay::reference::testing;

namespace {

struct chunked_gradients {
  value_vector first, second;
};

// The gradient of two chunks, split after m tokens; the second chunk passes the gradient of its state back, or does
// not.
chunked_gradients by_chunks(const graded_lane& g, std::size_t m, bool attached) {
  const auto begin_of_tail = [m](const std::vector<value>& v) { return v.begin() + static_cast<std::ptrdiff_t>(m); };
  const value_lane head{{g.x.a.begin(), begin_of_tail(g.x.a)}, {g.x.h.begin(), begin_of_tail(g.x.h)}, g.x.s0};
  const value_lane tail{
      {begin_of_tail(g.x.a), g.x.a.end()}, {begin_of_tail(g.x.h), g.x.h.end()}, m == 0 ? g.x.s0 : g.s[m - 1]};
  chunked_gradients out;
  out.second = gradient_of(tail, {begin_of_tail(g.grad_s), g.grad_s.end()}, g.grad_last);
  out.first = gradient_of(head, {g.grad_s.begin(), begin_of_tail(g.grad_s)}, attached ? out.second.s0 : value(0.0));
  return out;
}

}  // namespace

TEST_CASE("heinsen/chunks/attached_gradient_is_the_full_gradient", "[property][heinsen]") {  // T1, T4
  for_graded_lanes([](const graded_lane& g) {
    for (std::size_t m = 0; m <= g.x.size(); ++m) {
      const chunked_gradients attached = by_chunks(g, m, true), detached = by_chunks(g, m, false);
      for (std::size_t i = 0; i < g.x.size(); ++i) {
        const value_vector& chunk = i < m ? attached.first : attached.second;
        const std::size_t element = i < m ? i : i - m;
        CHECK(deviation(chunk.a[element], g.grad.a[i]) < 1e-95);
        CHECK(deviation(chunk.h[element], g.grad.h[i]) < 1e-95);
      }
      CHECK(deviation(attached.first.s0, g.grad.s0) < 1e-95);
      // The last chunk is not affected.
      CHECK(deviation(attached.second.flat(), detached.second.flat()) == 0.0);
    }
  });
}

TEST_CASE("heinsen/chunks/what_detaching_takes_away", "[property][heinsen]") {  // T2, T3
  // Delta lambda_i = beta w_{i+1} ... w_m, Delta abar = w Delta lambda, Delta hbar = v Delta lambda; inside the
  // chunk they add up to beta, the gradient in the next chunk's state.
  for_graded_lanes([](const graded_lane& g) {
    for (std::size_t m = 1; m <= g.x.size(); ++m) {
      const chunked_gradients attached = by_chunks(g, m, true), detached = by_chunks(g, m, false);
      const value beta = attached.second.s0;
      value lambda = beta, sum = attached.first.s0 - detached.first.s0;
      for (std::size_t i = m; i-- > 0;) {
        const value difference_of_a = attached.first.a[i] - detached.first.a[i];
        const value difference_of_h = attached.first.h[i] - detached.first.h[i];
        CHECK(deviation(difference_of_a, g.weights[i].w * lambda) < 1e-90);
        CHECK(deviation(difference_of_h, g.weights[i].v * lambda) < 1e-90);
        sum = sum + difference_of_h;
        lambda = g.weights[i].w * lambda;
      }
      CHECK(deviation(sum, is_dead(g, m - 1) ? value(0.0) : beta) < 1e-90);
    }
  });
}

TEST_CASE("heinsen/chunks/what_detaching_takes_away_decays", "[property][heinsen]") {  // T5
  // |Delta lambda_i| never grows towards older tokens; for constant p and h, at the fixed point, it shrinks by p per
  // token.
  for_graded_lanes([](const graded_lane& g) {
    const std::size_t m = g.x.size();
    const value beta(1.0);
    const value_vector grad = gradient_of(g.x, std::vector<value>(m, value(0.0)), beta);
    value before = beta;
    for (std::size_t i = m; i-- > 0;) {
      CHECK(grad.a[i].number <= before.number);
      CHECK(grad.a[i].number >= 0);
      before = grad.a[i];
    }
  });
  for (const double p : {0.2, 0.5, 0.97}) {
    const std::size_t n = 40;
    const value log_p = log(value(p)), h(0.3), fixed = h - log(value(1.0) - value(p));
    const value_lane x{std::vector<value>(n, log_p), std::vector<value>(n, h), fixed};
    const value_vector grad = gradient_of(x, std::vector<value>(n, value(0.0)), value(1.0));
    value power(1.0);
    for (std::size_t i = n; i-- > 0;) {
      power = power * value(p);
      CHECK(deviation(grad.a[i] / power, value(1.0)) < 1e-90);
    }
  }
}
