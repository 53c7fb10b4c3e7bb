// The allowance of an algorithm bounds the error that the algorithm really makes, on every family.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "properties/harness/case.hpp"
#include "properties/harness/verdict.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;
using reference::accuracy_class;

namespace {

// The builtin cumsum form has no answer at infinities, like the published one.
bool all_finite(const core::tensors& all) {
  for (const auto& [name, t] : all)
    for (const double x : t.values.storage())
      if (!std::isfinite(x)) return false;
  return true;
}

struct ratios {
  std::vector<double> all;
  std::string worst;
  void add(double r, const test_case& c) {
    if (all.empty() || r > *std::max_element(all.begin(), all.end())) worst = summary(c);
    all.push_back(r);
  }
};

// Records error / (u k) of every element of one case, with the law of the algorithm's own class.
void measure(accuracy_class algorithm, const test_case& c, ratios& found) {
  const core::tensors outputs = reference::evaluate(c.call, algorithm);
  const auto expected = expect(c.call, c.call.type);
  const auto laws = all_laws(*expected);
  const double u = core::unit_roundoff(c.call.type);
  double worst = 0;
  for (const auto& [name, t] : outputs) {
    const auto& k = laws->at(name).k[static_cast<std::size_t>(algorithm)].storage();
    const reference::certified& truth = expected->truth.at(name);
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double error = std::fabs(truth.error_of(t.values.storage()[i], i)) - truth.radius.storage()[i];
      if (!std::isfinite(truth.truth(i)) || std::isinf(truth.rounded.values.storage()[i])) continue;
      // A NaN exceeds every allowance if the truth is a number.
      const double ratio = std::isnan(error) ? std::numeric_limits<double>::infinity() : error / (u * k[i]);
      worst = std::max(worst, error <= 0 ? 0.0 : ratio);
    }
  }
  found.add(worst, c);
}

}  // namespace

namespace {

// Both proofs hold: the rounded values are the same, and remainders differ by at most the sum of the two radii.
void check_against_intervals(const reference::certified_outputs& by_balls, const test_case& c) {
  const auto by_intervals =
      reference::certify(c.call, reference::precision_digits.size(), reference::proof::value_and_low);
  for (const auto& [name, ball] : by_balls) {
    const reference::certified& interval = by_intervals.at(name);
    INFO(summary(c) << " " << name);
    REQUIRE(core::identical(ball.rounded, interval.rounded));
    for (std::size_t i = 0; i < ball.rung.size(); ++i) {
      if (!std::isfinite(ball.truth(i)) || std::isinf(ball.rounded.values.storage()[i])) continue;
      REQUIRE(std::fabs(ball.low.storage()[i] - interval.low.storage()[i]) <=
              (ball.radius.storage()[i] + interval.radius.storage()[i]) * (1 + 0x1p-40) +
                  0x1p-52 * std::fabs(interval.low.storage()[i]));
    }
  }
}

}  // namespace

TEST_CASE("certification/share_proved_by_rung", "[property]") {
  // Over all families of all operations. An element that a rung leaves open must be decided by a higher one (for
  // forward operations: in gradients exact ties remain).
  std::string table =
      "\nelements proved by running bounds in one double and in two, by balls of one and of two, and at 35, 80, 240, "
      "1000 "
      "digits:\n";
  for (const core::dtype t : core::floating_dtypes) {
    // In 16 bits, numbers near 10000 become equal.
    std::set<std::string> equal_weights{"equal_logits", "equal_lses"};
    if (core::format_of(t).precision < 12) equal_weights.insert("far_lses");
    std::array<std::size_t, reference::all_rungs> counts{};
    std::set<std::string> open;  // operations and families
    for (const core::operation& op : reference::operations()) {
      for (const family& f : families_of(op))
        for (std::uint64_t seed = 0; seed < (op.is_forward() ? 3u : 1u); ++seed) {
          if (f.holds_nan && !op.is_forward()) continue;
          const test_case c = make_case({&op, t, f.name, 1000 + seed}, f);
          const auto by_balls = reference::certify(c.call);
          // A mean with equal weights is rational and may be an exact tie too.
          const bool must_be_decided = op.is_forward() && !equal_weights.contains(f.name);
          for (const auto& [name, proof] : by_balls)
            for (const std::uint8_t rung : proof.rung)
              if (rung != reference::undecided)
                ++counts[rung];
              else if (must_be_decided)
                open.insert(op.name + " " + f.name);
          if (seed == 0) check_against_intervals(by_balls, c);
        }
    }
    table += fmt::format("{:5} {}\n", core::name_of(t), fmt::join(counts, " "));
    CHECK(open == std::set<std::string>{});
    const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    CHECK(std::accumulate(counts.begin(), counts.begin() + reference::first_interval_rung, std::size_t{0}) >
          all * 9 / 10);
  }
  fmt::print("{}", table);
}

TEST_CASE("heinsen/allowance/bounds_its_own_algorithm", "[property][heinsen]") {
  std::string table = fmt::format("\n{:28} {:11} {:>8} {:>8} {:>7}  worst case\n", "operation", "algorithm", "largest",
                                  "median", "cases");
  for (const core::operation& op : reference::operations())
    for (const accuracy_class algorithm : reference::accuracy_classes) {
      if (algorithm == accuracy_class::uniform) continue;
      ratios found;
      for (const core::dtype t : core::floating_dtypes)
        for (const family& f : families_of(op)) {
          if (f.holds_nan) continue;
          for (std::uint64_t seed = 0; seed < 9; ++seed) {
            const test_case c =
                make_case({&op, t, f.name, seed, {seed < 7 ? lengths::short_ones : lengths::around_blocks}}, f);
            if (algorithm != accuracy_class::cumsum || all_finite(c.call.inputs)) measure(algorithm, c, found);
          }
        }
      std::vector<double> sorted = found.all;
      std::sort(sorted.begin(), sorted.end());
      table += fmt::format("{:28} {:11} {:8.3f} {:8.3f} {:7}  {}\n", op.name, name_of(algorithm), sorted.back(),
                           sorted[sorted.size() / 2], sorted.size(), found.worst);
      CHECK(sorted.back() <= 1.0);
    }
  fmt::print("{}", table);
}
