// The two-level theorem, both ways, at 100 digits and in f64: see reference/algorithms/separability.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "properties/tests/effort.hpp"
#include "reference/algorithms/scans.hpp"
#include "reference/algorithms/separability.hpp"
#include "reference/core/counter_random.hpp"
#include "reference/readings/rounded.hpp"
#include "reference/readings/value.hpp"

using namespace assay;
using namespace assay::properties;
using reference::value;
using plain = reference::rounded;

namespace {

constexpr std::uint64_t theorem_seed = 1102;

double number_of(const value& x) { return x.to_double(); }
double number_of(plain x) { return x.number; }

struct bounds {
  double gate, input;  // p >= sigmoid(-gate), |h| <= input
};

// There is a margin where p_min + e^-H < 1.
std::vector<bounds> grid() {
  std::vector<bounds> all;
  for (const double gate : {0.25, 1.0, 3.0, 5.0, 10.0, 40.0})
    for (const double input : {0.5, 1.0, 2.5, 5.0, 10.0, 20.0})
      if (reference::largest_margin(plain(gate), plain(input)).number > 0) all.push_back({gate, input});
  return all;
}

template <class R>
R one_step(const R& log_p, const R& h, const R& s0) {
  R s = s0;
  reference::sequential_scan<R>({&log_p, 1, 1}, {&h, 1, 1}, s0, {&s, 1, 1});
  return s;
}

// The controls of the proof for random signs: how far the states miss their targets, the least h + H and the largest
// h - H.
struct closed_loop_run {
  double deviation = 0, lowest = 0, highest = 0;
};
template <class R>
closed_loop_run run_closed_loop(const bounds& b, const R& margin, std::size_t tokens) {
  core::counter_random random(theorem_seed);
  const R log_p = log_sigmoid(R(-b.gate));
  closed_loop_run run{0, b.input, -b.input};
  R s(0.0);
  for (std::size_t i = 0; i < tokens; ++i) {
    const R target = R(random.sign()) * margin;
    const R h = reference::closed_loop_input(log_p, s, target);
    s = one_step(log_p, h, s);
    run.deviation = std::max(run.deviation, std::fabs(number_of(s - target)));
    // Distances from the bounds, formed before rounding to double.
    run.lowest = std::min(run.lowest, number_of(h + R(b.input)));
    run.highest = std::max(run.highest, number_of(h - R(b.input)));
  }
  return run;
}

}  // namespace

TEST_CASE("heinsen/separability/largest_margin_is_reached", "[property][separability]") {
  fmt::print(
      "\nLargest margin for p >= sigmoid(-G), |h| <= H; the theorem's controls over 400 random signs\n"
      "{:>6} {:>6} {:>9} | {:>13} {:>13} | {:>13} {:>13}\n",
      "G", "H", "margin", "100 digits: s", "min h + H", "f64: s", "min h + H");
  for (const bounds& b : grid()) {
    const value margin = reference::largest_margin(value(b.gate), value(b.input));
    const closed_loop_run exact = run_closed_loop(b, margin, 400);
    const closed_loop_run in_double = run_closed_loop(b, reference::largest_margin(plain(b.gate), plain(b.input)), 400);
    fmt::print("{:6} {:6} {:9.5f} | {:13.2g} {:13.2g} | {:13.2g} {:13.2g}\n", b.gate, b.input, number_of(margin),
               exact.deviation, exact.lowest, in_double.deviation, in_double.lowest);
    INFO("G = " << b.gate << ", H = " << b.input);
    // At 100 digits: no deviation, -H reached and not crossed, H not crossed. At h = -H a relative error of e^-m
    // becomes a relative error of e^(H - m) times its size.
    const double amplified = std::exp(b.input - number_of(margin));
    CHECK(exact.deviation < 1e-98 * (1 + b.input));
    CHECK(std::fabs(exact.lowest) < 1e-98 * (1 + b.input) * amplified);
    CHECK(exact.highest <= 0);
    CHECK(in_double.deviation < 4 * 0x1p-53 * (1 + b.input));
    CHECK(std::fabs(in_double.lowest) < 8 * 0x1p-53 * (1 + b.input) * amplified);
  }
}

TEST_CASE("heinsen/separability/largest_margin_published_values", "[property][separability]") {
  struct entry {
    double gate, input, margin, tolerance;
  };
  for (const entry& e :
       {entry{1, 1, 0.309, 5e-4}, {5, 5, 2.462, 5e-4}, {10, 10, 4.997, 5e-4}, {3, 2.5, 1.33693, 5e-6}}) {
    const double margin = reference::largest_margin(plain(e.gate), plain(e.input)).number;
    fmt::print("largest margin G = {}, H = {}: {:.5f}, published {}\n", e.gate, e.input, margin, e.margin);
    CHECK(std::fabs(margin - e.margin) <= e.tolerance);
  }
  // The limits: half the depth of the gate, and H.
  CHECK(reference::largest_margin(plain(6), plain(1e6)).number ==
        Approx(-0.5 * log_sigmoid(plain(-6)).number).epsilon(1e-14));
  CHECK(reference::largest_margin(plain(1e6), plain(7)).number == Approx(7).epsilon(1e-14));
}

TEST_CASE("heinsen/separability/no_controls_exceed_the_largest_margin", "[property][separability]") {
  core::counter_random random(theorem_seed);
  std::size_t tried = 0;
  double closest = 1;
  for (const bounds& b : grid()) {
    const value gate(b.gate), input(b.input), margin = reference::largest_margin(gate, input);
    INFO("G = " << b.gate << ", H = " << b.input);
    // Any s_1 >= m forces s_2 above -m, however little m exceeds the largest margin; at the largest margin, exactly to
    // -m.
    for (const double excess : {1e-60, 1e-9, 1e-3, 1.0}) {
      const value m = margin + value(value::real(excess));
      CHECK(is_positive(reference::lowest_after(m, gate, input) + m));
    }
    CHECK(std::fabs(number_of(reference::lowest_after(margin, gate, input) + margin)) < 1e-98 * (1 + b.input));
    // Two tokens with any admissible controls, half of them at the corners where the theorem is tight.
    double exceeded = -1;
    const double lowest_log_p = log_sigmoid(plain(-b.gate)).number, largest = number_of(margin);
    for (std::size_t k = 0; k < scaled(4000); ++k) {
      const auto log_p = [&] { return plain(random.one_in(2) ? lowest_log_p : lowest_log_p * random.uniform()); };
      const auto h = [&](double corner) { return plain(random.one_in(2) ? corner : b.input * random.uniform(-1, 1)); };
      const plain target(random.one_in(2) ? largest : b.input * random.uniform());
      const plain a1 = log_p();
      const bool reachable = a1.number < target.number;
      const plain first = reachable ? reference::closed_loop_input(a1, plain(0.0), target) : h(b.input);
      if (std::fabs(first.number) > b.input) continue;
      ++tried;
      const plain s1 = one_step(a1, first, plain(0.0)), s2 = one_step(log_p(), h(-b.input), s1);
      const double reached = std::min(s1.number, -s2.number);
      exceeded = std::max(exceeded, reached - largest);
      closest = std::min(closest, std::fabs(largest - reached));
    }
    CHECK(exceeded <= 8 * 0x1p-53 * (1 + b.input));
  }
  fmt::print("margins of {} random admissible controls: the closest misses the largest margin by {:.2g}\n", tried,
             closest);
  CHECK(closest < 1e-12);  // the bound is sharp
}

TEST_CASE("heinsen/separability/open_loop_keeps_its_margin", "[property][separability]") {
  struct row {
    double margin;
    const char *p, *log_p, *h_plus, *h_minus;  // published
  };
  for (const row& r : {row{0.25, "0.2327", "-1.4580", "0.25", "-0.9431"},
                       {1, "0.06338", "-2.7586", "1", "-1.6931"},
                       {4, "0.0001677", "-8.6933", "4", "-4.6931"}}) {
    const reference::two_level_controls c = reference::open_loop(r.margin);
    CHECK(fmt::format("{:.4g}", std::exp(c.log_p())) == r.p);
    CHECK(fmt::format("{:.4f}", c.log_p()) == r.log_p);
    CHECK(fmt::format("{}", c.h_plus) == r.h_plus);
    CHECK(fmt::format("{:.4f}", c.h_minus) == r.h_minus);
  }
  core::counter_random random(theorem_seed);
  for (const double margin : {0.01, 0.25, 1.0, 4.0, 40.0}) {
    INFO("margin " << margin);
    const reference::two_level_controls c = reference::open_loop(margin);
    const reference::sign_bands bands = reference::bands_of(c.log_p(), c.h_plus, c.h_minus);
    CHECK(bands.margin() == Approx(margin).epsilon(1e-14));
    const double tolerance = 8 * 0x1p-53 * (1 + margin);
    const auto next = [&](bool plus, plain s) {
      return one_step(plain(c.log_p()), plain(plus ? c.h_plus : c.h_minus), s);
    };
    // Random signs, from the highest state that the claim covers.
    double outside = 0;
    plain s(bands.plus_high);
    for (std::size_t i = 0; i < scaled(2000); ++i) {
      const bool plus = random.one_in(2);
      s = next(plus, s);
      outside = std::max({outside, (plus ? bands.plus_low : bands.minus_low) - s.number,
                          s.number - (plus ? bands.plus_high : bands.minus_high)});
    }
    CHECK(outside <= tolerance);
    // The bands are sharp: after many +, the next - ends at the upper edge of its band.
    for (std::size_t i = 0; i < 64; ++i) s = next(true, s);
    CHECK(std::fabs(next(false, s).number - bands.minus_high) <= tolerance);
  }
}
