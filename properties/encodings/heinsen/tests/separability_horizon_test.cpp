// How long constant controls tell tokens apart by magnitude, in every dtype: s_i = LSE(log p + s_{i-1}, h), every
// operation rounded. Predictions: reference/algorithms/saturation.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "properties/tests/effort.hpp"
#include "reference/algorithms/saturation.hpp"
#include "reference/algorithms/scans.hpp"
#include "reference/readings/rounded.hpp"

using namespace assay;
using namespace assay::properties;
using core::dtype;
using reference::rounded;

namespace {

// Constant controls, rounded to the dtype.
struct controls {
  dtype type;
  double log_p, h;
};

template <dtype Type>
double step_in(const controls& c, double s) {
  using R = rounded;
  const reference::computing_in format(Type);
  const R log_p(c.log_p), h(c.h);
  R next;
  reference::sequential_scan<R>({&log_p, 1, 1}, {&h, 1, 1}, R(s), {&next, 1, 1});
  return next.number;
}

auto step_of(dtype type) {
  return type == dtype::f32 ? step_in<dtype::f32> : type == dtype::f16 ? step_in<dtype::f16> : step_in<dtype::bf16>;
}

// The orbit of s_0.
reference::cycle<double> orbit_of(const controls& c, double s0) {
  return reference::find_cycle(s0, [&c, f = step_of(c.type)](double s) { return f(c, s); });
}

double ulp(dtype type, double x) { return 2 * core::half_ulp(type, x); }

// Whether the steps are within a share of the expected number, or within two steps of it.
bool close(double steps, double expected, double share) {
  return std::fabs(steps - expected) <= std::max(2.0, share * expected);
}

constexpr dtype dtypes[] = {dtype::f32, dtype::f16, dtype::bf16};

}  // namespace

TEST_CASE("heinsen/separability/horizon_of_constant_controls", "[property][separability]") {
  struct row {
    double p, published[3];
  };
  const row rows[] = {
      {0.1, {7, 4, 3}},         {0.5, {24, 11, 8}},         {0.9, {128, 43, 22}},        {0.99, {1046, 147, 63}},
      {0.999, {8221, 450, 61}}, {0.9999, {52288, 447, 61}}, {0.99999, {307260, 447, 61}}};
  // The published 24 of f32 at p = 1/2 belongs to a log1p that is an ulp off; correctly rounded it is 23.
  fmt::print(
      "\nSteps until the states repeat, h = 0, s_0 = 0: measured, published table, predicted (-: counting law)\n");
  for (const row& r : rows) {
    std::string line = fmt::format("{:8}", r.p);
    for (std::size_t k = 0; k < 3; ++k) {
      const auto o = orbit_of({dtypes[k], std::log(r.p), 0}, 0);
      const reference::saturation predicted = reference::predicted_saturation(dtypes[k], r.p, 0, 0);
      const auto steps = static_cast<double>(o.tail);
      line += fmt::format(" | {:4} {:6} {:6} {:>8}", core::name_of(dtypes[k]), steps, r.published[k],
                          predicted.valid ? fmt::format("{:.1f}", predicted.steps) : "-");
      INFO(core::name_of(dtypes[k]) << ", p = " << r.p);
      CHECK(close(steps, r.published[k], 0.05));
      // To first order; the rounding of each step shortens the way by some per cent.
      if (predicted.valid) CHECK(close(steps, predicted.steps, 0.1));
    }
    fmt::print("{}\n", line);
  }
}

TEST_CASE("heinsen/separability/counting_stops", "[property][separability]") {
  struct row {
    dtype type;
    double steps, end;
  };
  fmt::print("\np = 1, h = 0: steps until a counter stops, and where\n");
  for (const row& r : {row{dtype::bf16, 61, 4.156}, {dtype::f16, 447, 6.238}, {dtype::f32, 1835671, 14.556}}) {
    const auto o = orbit_of({r.type, 0, 0}, 0);
    fmt::print("{:5} {:8} published {:8} | s = {:.4f} published {}\n", core::name_of(r.type), o.tail, r.steps, o.first,
               r.end);
    INFO(core::name_of(r.type));
    CHECK(close(static_cast<double>(o.tail), r.steps, 0.05));
    CHECK(o.length == 1);
    CHECK(std::fabs(o.first - r.end) < 1e-3);
    CHECK(reference::growth_stops(r.type, o.first, 0));
    CHECK_FALSE(reference::growth_stops(r.type, o.first - ulp(r.type, o.first), 0));
  }
}

TEST_CASE("heinsen/separability/counters_take_about_1_over_u_steps", "[property][separability]") {
  struct row {
    dtype type;
    double published;
  };
  fmt::print("\np = 1: the longest counter over h = 0, -2, ..., -16, -17\n");
  for (const row& r : {row{dtype::bf16, 343}, {dtype::f16, 2731}, {dtype::f32, 1.58e7}}) {
    double most = 0, longest_h = 0;
    for (const double h : {0., -2., -4., -6., -8., -10., -12., -14., -16., -17.}) {
      // The f32 counter at h = -17 is by far the longest, and the only f32 counter that is worth its time.
      if (r.type == dtype::f32 && h != -17 && effort() == 1) continue;
      const auto steps = static_cast<double>(orbit_of({r.type, 0, h}, 0).tail);
      if (steps > most) longest_h = h;
      most = std::max(most, steps);
    }
    const double in_u = most * core::unit_roundoff(r.type);
    fmt::print("{:5} {:9} published {:9} | h = {}, {:.2f} / u\n", core::name_of(r.type), most, r.published, longest_h,
               in_u);
    INFO(core::name_of(r.type));
    CHECK(close(most, r.published, 0.01));
    CHECK(in_u > 0.5);
    CHECK(in_u < 2);
  }
}

TEST_CASE("heinsen/separability/stalled_value_stays_below_the_fixed_point", "[property][separability]") {
  fmt::print("\nf32, h = 0, s_0 = 0: the stalled value less s*, in ulp\n");
  for (const auto& [p, published] : {std::pair{0.999, -299.0}, {0.9999, -6352.0}}) {
    const auto o = orbit_of({dtype::f32, std::log(p), 0}, 0);
    const double limit = reference::fixed_point(p, 0), offset = (o.first - limit) / ulp(dtype::f32, limit);
    fmt::print("p = {:6}: {:8.1f} published {:6} | {:.3f} / (1 - p)\n", p, offset, published, offset * (1 - p));
    CHECK(std::fabs(offset / published - 1) < 0.02);
    // A step errs by about half a spacing, near the end always in one direction, and forgets 1 - p of the earlier
    // error.
    CHECK(-offset * (1 - p) > 0.2);
    CHECK(-offset * (1 - p) < 0.7);
  }
}

TEST_CASE("heinsen/separability/decay_freezes", "[property][separability]") {
  const double nothing = -std::numeric_limits<double>::infinity();
  for (const dtype type : dtypes)
    for (const double s : {2.0, 3.0, 1.5, 1.9375, -1.0, -1.75, -4.0, 100.0, -0.375}) {
      const double threshold = reference::decay_freeze_threshold(type, s);
      INFO(core::name_of(type) << ", s = " << s << ", threshold " << threshold);
      CHECK(step_of(type)({type, -0.98 * threshold, nothing}, s) == s);
      CHECK(step_of(type)({type, -1.02 * threshold, nothing}, s) < s);
    }
  struct row {
    dtype type;
    double p;
    bool frozen;  // published
  };
  fmt::print("\nFrom s_0 = 2 with s* = 0: steps until the states repeat\n");
  for (const row& r : {row{dtype::bf16, 0.99, false},
                       {dtype::bf16, 0.999, true},
                       {dtype::bf16, 0.9999, true},
                       {dtype::f16, 0.999, false},
                       {dtype::f16, 0.9999, true},
                       {dtype::f16, 0.99999, true}}) {
    const auto o = orbit_of({r.type, std::log(r.p), std::log1p(-r.p)}, 2);
    fmt::print("{:5} p = {:7}: {:5} steps, to s = {:.5f}{}\n", core::name_of(r.type), r.p, o.tail, o.first,
               r.frozen ? ", published 0" : "");
    INFO(core::name_of(r.type) << ", p = " << r.p);
    CHECK((o.tail == 0) == r.frozen);
    CHECK((std::fabs(std::log(r.p)) < reference::decay_freeze_threshold(r.type, 2)) == r.frozen);
  }
}

TEST_CASE("heinsen/separability/states_may_end_in_a_cycle", "[property][separability]") {
  // A map whose orbit is known: 3, 10, then 101, 2, 5, 26, 167, 95 for ever.
  const auto known = reference::find_cycle(3, [](int x) { return (x * x + 1) % 255; });
  CHECK(known.tail == 2);
  CHECK(known.length == 6);
  CHECK(known.first == 101);
  struct row {
    dtype type;
    double p;
    std::size_t published;
  };
  fmt::print("\nCycles near s* = 0, h = log(1 - p)\n");
  for (const row& r : {row{dtype::bf16, 0.9, 2},
                       {dtype::f32, 0.9, 4},
                       {dtype::f32, 0.99, 5},
                       {dtype::f32, 0.999, 5},
                       {dtype::f16, 0.99, 5}})
    for (const double s0 : {0.0, 1.0, -1.0}) {
      const auto o = orbit_of({r.type, std::log(r.p), std::log1p(-r.p)}, s0);
      fmt::print("{:5} p = {:5} s_0 = {:2}: length {} published {} | after {:5} steps at {:.2g}\n",
                 core::name_of(r.type), r.p, s0, o.length, r.published, o.tail, o.first);
      INFO(core::name_of(r.type) << ", p = " << r.p << ", s_0 = " << s0);
      CHECK(o.length == r.published);
      // The rounding error of LSE is absolute there: some u, divided by the 1 - p that each step forgets.
      CHECK(std::fabs(o.first) < 4 * core::unit_roundoff(r.type) / (1 - r.p));
    }
}
