// Measures how long positions stay distinct: the signs of a 2^d counter, states under constant controls, and prefix
// sums at the end of a format's digits and of its range.
#include <cmath>

#include "reference/algorithms/saturation.hpp"
#include "reference/algorithms/separability.hpp"
#include "reference/readings/rounded.hpp"
#include "tools/explore/heinsen/parts.hpp"
#include "tools/explore/heinsen/scans.hpp"
#include "tools/explore/heinsen/streams.hpp"
#include "tools/explore/single_cells.hpp"

namespace assay::explore {
namespace {

using R = reference::rounded;

constexpr std::size_t features = 4;  // the fastest digits of the counter; the others keep their signs longer
// mu / (u |log p|): the length at which the error of prefix sums, u |A_n|, reaches the margin.
double counter_law(const cell& c) {
  const storage_format& stored = *find_format(c.storage);
  const double log_p = stored.round(reference::open_loop(c.decay).log_p());
  if (c.implementation != "cumsum") return nothing;
  return reference::predicted_cumsum_failure(stored.unit_roundoff(), c.decay, log_p);
}

// The first token at which a state of the counter has the wrong sign, and the smallest margin before it, relative to
// mu.
results count(const cell& c) {
  const storage_format& stored = *find_format(c.storage);
  const reference::two_level_controls controls = reference::open_loop(c.decay);
  const double log_p = stored.round(controls.log_p()), plus = stored.round(controls.h_plus),
               minus = stored.round(controls.h_minus);
  const reference::computing_in format(*core::dtype_named(c.arithmetic));
  std::vector<std::unique_ptr<streaming_scan>> scans;
  for (std::size_t j = 0; j < features; ++j) scans.push_back(find_scan(c.implementation)->start(stored));
  double first_wrong = nothing, margin = std::numeric_limits<double>::infinity();
  std::vector<double> a(block_tokens, log_p), h(block_tokens), s(block_tokens);
  for (std::uint64_t first = 0; first < c.size && std::isnan(first_wrong); first += block_tokens) {
    const std::size_t tokens = std::min<std::uint64_t>(block_tokens, c.size - first);
    std::vector<double> least(tokens, std::numeric_limits<double>::infinity());
    for (std::size_t j = 0; j < features; ++j) {
      for (std::size_t i = 0; i < tokens; ++i) h[i] = reference::counter_sign(first + i, j) > 0 ? plus : minus;
      scans[j]->run({a.data(), tokens}, {h.data(), tokens}, {s.data(), tokens});
      for (std::size_t i = 0; i < tokens; ++i) {
        const double kept = stored.round(s[i]) * reference::counter_sign(first + i, j);
        least[i] = std::isnan(kept) ? -1.0 : std::min(least[i], kept);
      }
    }
    for (std::size_t i = 0; i < tokens && std::isnan(first_wrong); ++i) {
      if (least[i] > 0.0)
        margin = std::min(margin, least[i]);
      else
        first_wrong = static_cast<double>(first + i + 1);
    }
  }
  return {
      {"first_wrong", first_wrong}, {"smallest_margin", margin / c.decay}, {"law", counter_law(c)}, {"log_p", log_p}};
}

// Tokens until a counter with p = 1 stops growing: s = log(1 + n) until its increment is lost.
double counting_limit(core::dtype type) {
  double n = 1;
  while (!reference::growth_stops(type, std::log1p(n), 0.0)) n *= 1.0 + 1e-4;
  return n;
}

// Tokens of one constant input until the states repeat: h = 0, s_0 = 0.
results merge(const cell& c) {
  const core::dtype type = *core::dtype_named(c.arithmetic);
  const reference::computing_in format(type);
  const R log_p(std::log(c.decay)), h(0.0);
  const auto step = [&](double s) { return log_sum_exp(log_p + R(s), h).number; };
  const reference::cycle found = reference::find_cycle(0.0, step);
  double end = 0;
  for (std::size_t i = 0; i < found.tail; ++i) end = step(end);
  const reference::saturation predicted = reference::predicted_saturation(type, c.decay, 0.0, 0.0);
  // A feature that never decays: s = 2 stays, though the fixed point of h = log(1 - p) is 0.
  const R quiet(std::log1p(-c.decay));
  const bool freezes = c.decay < 1.0 && log_sum_exp(log_p + R(2.0), quiet).number == 2.0;
  const bool counts = c.decay == 1.0 || !predicted.valid;
  return {{"merged_at", static_cast<double>(found.tail)},
          {"cycle", static_cast<double>(found.length)},
          {"end", end},
          {"law", counts ? counting_limit(type) : predicted.steps},
          {"law_is_counting", counts ? 1.0 : 0.0},
          {"freezes", freezes ? 1.0 : 0.0}};
}

// When the running sum of log p has stopped changing, or has been stored as the largest number, for so long that half
// of it is missing; and when it leaves the range of its storage format. The law is for the end of that range.
results sum_up(const cell& c) {
  const storage_format& stored = *find_format(c.storage);
  const reference::computing_in format(*core::dtype_named(c.arithmetic));
  token_stream stream(c, 0);
  std::vector<double> a(block_tokens), h(block_tokens);
  R sum(0.0);
  double stalled_at = nothing, overflowed_at = nothing, exact = 0;
  for (std::uint64_t first = 0; first < c.size; first += block_tokens) {
    const std::size_t tokens = std::min<std::uint64_t>(block_tokens, c.size - first);
    stream.next({a.data(), tokens}, {h.data(), tokens});
    for (std::size_t i = 0; i < tokens; ++i) {
      exact += a[i];
      sum = sum + R(a[i]);
      const double kept = stored.round(sum.number);
      if (!std::isfinite(kept) && std::isnan(overflowed_at)) overflowed_at = static_cast<double>(first + i + 1);
      if (std::fabs(kept) < std::fabs(exact) / 2 && std::isnan(stalled_at))
        stalled_at = static_cast<double>(first + i + 1);
    }
  }
  const double mean = std::fabs(exact) / static_cast<double>(c.size);
  const double end = (stored.beyond == overflow::saturates ? 2 : 1) * stored.largest;
  return {{"stalls_at", stalled_at}, {"overflows_at", overflowed_at}, {"mean_decay", mean}, {"law", end / mean}};
}

// The steps of a counter: it ends at its first wrong sign, for prefix sums about where the law says.
double until_a_sign_fails(const cell& c) {
  const double law = counter_law(c);
  return std::min(static_cast<double>(c.size), std::isnan(law) ? 1e12 : 1.2 * law) + block_tokens;
}
double until_it_merges(const cell& c) { return c.arithmetic == "f32" ? std::min(1e6, 30 / (1.0001 - c.decay)) : 500; }

core::result<void> check_margin(const cell& c) {
  return c.decay > 0.0 && c.decay <= 100.0 ? core::result<void>()
                                           : refuse_cell(c, "the margin is above 0, at most 100");
}
core::result<void> check_merging(const cell& c) {
  if (c.arithmetic == "f64") return refuse_cell(c, "in f64 the states take too long to repeat");
  return c.decay > 0.0 && c.decay <= 1.0 ? core::result<void>() : refuse_cell(c, "p is above 0, at most 1");
}

}  // namespace

measure counters() {
  measure m{.name = "counter",
            .summary = "the first wrong sign of a 2^d counter",
            .size_means = "tokens tried",
            .decay_means = "margin mu of the signs",
            .scale_means = "",
            .takes_storage = true,
            .check = check_margin};
  for (const scan_algorithm& a : scan_algorithms()) m.implementations.emplace_back(a.name);
  return single_cell_measure(std::move(m), count, until_a_sign_fails);
}

measure merging_positions() {
  return single_cell_measure(measure{.name = "merging",
                                     .summary = "tokens of a constant input until the states repeat",
                                     .size_means = "",
                                     .decay_means = "p",
                                     .scale_means = "",
                                     .implementations = {"sequential"},
                                     .check = check_merging},
                             merge, until_it_merges);
}

measure running_sums() {
  return single_cell_measure(measure{.name = "running_sum",
                                     .summary = "where the cumulative sum of log p stalls or overflows",
                                     .size_means = "tokens tried",
                                     .decay_means = "mean of the gate logits",
                                     .scale_means = "",
                                     .implementations = {"cumsum"},
                                     .families = {"gates"},
                                     .takes_storage = true},
                             sum_up, every_token);
}

}  // namespace assay::explore
