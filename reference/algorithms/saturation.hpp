// The limits that a dtype sets to the recurrence s_i = LSE(log p + s_{i-1}, h) (Heinsen 2024, eq. (3)) under constant
// controls, and to the form in two prefix sums under any controls. Predictions to first order in u; all derived here.
#pragma once

#include <cstddef>

#include "reference/core/dtype.hpp"

namespace assay::reference {

/// The token at which the form s_n = A_n + LSE_k(h_k - A_k), A = cumsum(log p), first shows a wrong sign of a state
/// whose margin is `margin`: its error is about u |A_n|, which reaches the margin at n = margin / (u |log p|).
double predicted_cumsum_failure(double u, double margin, double log_p);

/// s* = h - log(1 - p), the fixed point.
double fixed_point(double p, double h);

/// The number of steps until successive states are equal. s_i - s* = log(1 + r p^i), r = e^{s_0 - s*} - 1, so they
/// differ by |r| p^i (1 - p): less than half a spacing of the format at s* from i = log(half_ulp(s*) / (|r| (1 - p))) /
/// log p on.
struct saturation {
  double steps = 0;
  bool valid = false;  ///< the first step changes the state; otherwise `growth_stops` decides
};
saturation predicted_saturation(core::dtype type, double p, double h, double s0);

/// A state s >= h that counts (p = 1: s_i = LSE(s_{i-1}, h)) stops growing once its increment log1p(e^{h - s}) is below
/// half_ulp(s).
bool growth_stops(core::dtype type, double s, double h);

/// log p + s rounds to s if |log p| is below half the distance from s to the number below it: there is no decay at all.
double decay_freeze_threshold(core::dtype type, double s);

/// The orbit of a state under a map: `tail` steps lead to the first of a cycle of `length` states.
template <class State>
struct cycle {
  std::size_t tail = 0, length = 0;
  State first{};
};

/// Brent 1980, "An improved Monte Carlo factorization algorithm", section 2. Two equal successive states are a cycle of
/// length 1 and end the search at once. Near s* = 0 longer cycles occur, which a comparison of successive states would
/// never find.
template <class State, class Step>
cycle<State> find_cycle(const State& start, Step step) {
  std::size_t power = 1, length = 0, steps = 0;
  State tortoise = start, hare = start;
  do {
    const State next = step(hare);
    if (next == hare) return {steps, 1, hare};
    if (length == power) {
      tortoise = hare;
      power *= 2;
      length = 0;
    }
    hare = next;
    ++length;
    ++steps;
  } while (!(tortoise == hare));
  tortoise = hare = start;
  for (std::size_t i = 0; i < length; ++i) hare = step(hare);
  std::size_t tail = 0;
  for (; !(tortoise == hare); ++tail) {
    tortoise = step(tortoise);
    hare = step(hare);
  }
  return {tail, length, tortoise};
}

}  // namespace assay::reference
