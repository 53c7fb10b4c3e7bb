// Compares cosines and sines with MPFR. The bounds of absolute errors are those that rotations.hpp states. The bounds
// of relative errors of sines lie above the measured error that kernels/rotation.ipp states.
#include "optimized/rotations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "optimized/tests/exact_rotation.hpp"
#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

/// The largest error in units of a bound, and its place.
struct worst_rotation {
  double error = 0, position = 0, theta = 0, theta_low = 0;
  std::size_t samples = 0;
  // NaN counts as an infinite error.
  void add(double e, double m, const frequency& f) {
    if (!(e <= error)) error = std::isnan(e) ? inf<double> : e, position = m, theta = f.high, theta_low = f.low;
    ++samples;
  }
};

constexpr double split_bound(double angle) { return 0x1p-78 + 0x1p-105 * angle; }

/// Absolute errors of plain results in units of 2^-53 and of split results in units of split_bound. For sines of angles
/// below 0.7, also relative errors in units of 2^-53.
struct all_errors {
  worst_rotation plain, split, relative;
  void measure(const std::vector<frequency>& theta, const std::vector<double>& positions) {
    const prepared_frequencies prepared(theta);
    rotations found(theta.size(), false), parts(theta.size(), true);
    exact_rotation exact;
    for (const double m : positions) {
      prepared.find(active_kernels(), m, found);
      prepared.find(active_kernels(), m, parts);
      for (std::size_t t = 0; t < theta.size(); ++t) {
        exact.find(m, theta[t]);
        const double error_of_sine = exact.sine.distance(found.sine[t]), magnitude = std::fabs(exact.sine.rounded());
        plain.add(std::max(exact.cosine.distance(found.cosine[t]), error_of_sine) * 0x1p53, m, theta[t]);
        split.add(std::max(exact.cosine.distance(parts.cosine[t], parts.cosine_low[t]),
                           exact.sine.distance(parts.sine[t], parts.sine_low[t])) /
                      split_bound(std::fabs(exact.angle.rounded())),
                  m, theta[t]);
        if (std::fabs(exact.angle.rounded()) < 0.7 && magnitude > 0x1p-1000)
          relative.add(error_of_sine / magnitude * 0x1p53, m, theta[t]);
      }
    }
  }
};

/// Makes frequencies of all magnitudes in [2^low, 2^high) and of both signs.
std::vector<frequency> spread_frequencies(generator& random, std::size_t count, int low, int high) {
  std::vector<frequency> theta(count);
  for (frequency& f : theta) {
    f.high = std::exp2(random.uniform(low, high));
    if (random.bits() % 2 == 0) f.high = -f.high;
  }
  return theta;
}
std::vector<frequency> geometric_frequencies(generator& random, std::size_t count) {
  const double base = random.uniform(2, 1e6);
  std::vector<frequency> theta(count);
  for (std::size_t t = 0; t < count; ++t)
    theta[t] = geometric_frequency(base, static_cast<long>(t), static_cast<long>(count));
  return theta;
}

all_errors measured(std::size_t rounds) {
  all_errors errors;
  generator random(23);
  for (std::size_t k = 0; k < rounds; ++k) {
    std::vector<double> whole, real, eighth_turns;
    for (int i = 0; i < 8; ++i) {
      whole.push_back(std::floor(std::exp2(random.uniform(0, 31))));
      real.push_back((i % 2 == 0 ? 1 : -1) * std::exp2(random.uniform(-30, 40)));
    }
    errors.measure(geometric_frequencies(random, 23), whole);
    errors.measure(spread_frequencies(random, 23, -40, 0), real);
    // Multiples of an eighth of a turn. At odd ones the nearest number of quarter turns changes; at even ones a cosine
    // or a sine is near 0.
    for (int i = 0; i < 8; ++i)
      eighth_turns.push_back(std::floor(std::exp2(random.uniform(0, 20))) * 0.78539816339744831);
    errors.measure({{1, 0}, {-1, 0}, {0x1p-9, 0}}, eighth_turns);
  }
  return errors;
}

void check_bounds(std::size_t rounds) {
  const all_errors e = measured(rounds);
  const auto shown = [](const char* what, const auto& worst) {
    return fmt::format("{}: {} at position {:a}, frequency {:a} + {:a}, of {} angles", what, worst.error,
                       worst.position, worst.theta, worst.theta_low, worst.samples);
  };
  INFO(shown("plain", e.plain));
  INFO(shown("split", e.split));
  INFO(shown("relative", e.relative));
  CHECK(e.plain.error <= 1.0);
  CHECK(e.split.error <= 1.0);
  CHECK(e.relative.error <= 1.5);
}

}  // namespace

TEST_CASE("optimized/rotations/error_below_bounds", "[optimized]") {
  on_every_target([] { check_bounds(scaled(100)); });
}

TEST_CASE("optimized/rotations/error_below_bounds_soak", "[.][soak]") {
  on_every_target([] { check_bounds(scaled(20000)); });
}

TEST_CASE("optimized/rotations/recorded_witnesses", "[optimized]") {
  on_every_target([] {
    all_errors plain, relative;
    plain.measure({{1, 0}}, {0x1.165cbf046e98fp+14});
    relative.measure({{0x1.3016d5f449f24p-8, -0x1.aa28c1e8d8482p-63}}, {141});
    CHECK(plain.plain.error == Approx(0.9239).margin(1e-4));
    CHECK(relative.relative.error == Approx(1.2806).margin(1e-4));
  });
}

// Huge and tiny angles, which the kernels leave to the C library and to MPFR.
TEST_CASE("optimized/rotations/error_outside_of_the_kernels", "[optimized]") {
  generator random(29);
  on_every_target([&] {
    all_errors huge, tiny;
    for (int k = 0; k < 20; ++k) {
      std::vector<double> positions, small;
      for (int i = 0; i < 8; ++i) positions.push_back(std::exp2(random.uniform(41, 400)));
      for (int i = 0; i < 8; ++i) small.push_back(std::exp2(random.uniform(-450, 50)));
      huge.measure(spread_frequencies(random, 9, 0, 600), positions);
      tiny.measure(spread_frequencies(random, 9, -540, -450), small);
    }
    CAPTURE(huge.plain.position, huge.plain.theta, huge.split.position, huge.split.theta);
    CHECK(huge.plain.error <= 2.0);
    CHECK(huge.split.error <= 1.0);
    CAPTURE(tiny.relative.position, tiny.relative.theta);
    CHECK(tiny.plain.error <= 1.0);
    CHECK(tiny.split.error <= 1.0);
    CHECK(tiny.relative.error <= 2.0);
  });
}

// Sines of tiny angles are right to an ulp, down to the subnormals. The two parts of a split sine add up to the rounded
// truth where it is at least 2^-1000. The cosines are 1.
TEST_CASE("optimized/rotations/sines_of_tiny_angles", "[optimized]") {
  const std::vector<double> thetas{0x1p-1074,  0x1.8p-1073, 0x1p-1022, 0x1.23456789p-1000, 0x1.3p-500,
                                   0x1.3p-499, 0x1.3p-498,  0x1.fp-40, -0x1p-1074,         -0x1.23456789p-600};
  std::vector<frequency> theta;
  for (const double x : thetas) theta.push_back({x, 0});
  const prepared_frequencies prepared(theta);
  on_every_target([&] {
    for (const double m : {1.0, -1.0, 3.0, 1000.0, 0.5, 0x1.7p-30, 0x1p-399, 0x1p-401, -0x1p-1074, 0x1p-1022}) {
      rotations found(theta.size(), false), parts(theta.size(), true);
      prepared.find(active_kernels(), m, found);
      prepared.find(active_kernels(), m, parts);
      exact_rotation exact;
      for (std::size_t t = 0; t < theta.size(); ++t) {
        exact.find(m, theta[t]);
        const double truth = exact.sine.rounded(),
                     ulp = std::nextafter(std::fabs(truth), inf<double>) - std::fabs(truth);
        CAPTURE(m, thetas[t], truth, found.sine[t], parts.sine[t], parts.sine_low[t]);
        CHECK(std::fabs(found.sine[t] - truth) <= ulp);
        CHECK(std::fabs((parts.sine[t] + parts.sine_low[t]) - truth) <= (std::fabs(truth) < 0x1p-1000 ? ulp : 0));
        CHECK(found.cosine[t] == 1);
        CHECK((parts.cosine[t] == 1 && std::fabs(parts.cosine_low[t]) < 0x1p-50));
      }
    }
  });
}

TEST_CASE("optimized/rotations/special_values", "[optimized]") {
  const double largest = std::numeric_limits<double>::max();
  const std::vector<double> thetas{0, -0.0, 1, 1e-320, inf<double>, -inf<double>, nan<double>, largest};
  std::vector<frequency> theta;
  for (const double x : thetas) theta.push_back({x, 0});
  const prepared_frequencies prepared(theta);
  on_every_target([&] {
    for (const double m : {0.0, -0.0, 1.0, -5.0, 0x1p-1074, largest, inf<double>, -inf<double>, nan<double>}) {
      for (const bool split : {false, true}) {
        rotations found(theta.size(), split);
        prepared.find(active_kernels(), m, found);
        for (std::size_t t = 0; t < theta.size(); ++t) {
          CAPTURE(m, thetas[t], split, found.cosine[t], found.sine[t]);
          const double angle = m * thetas[t];
          if (angle == 0 && (m == 0 || thetas[t] == 0)) {
            CHECK((found.cosine[t] == 1 && found.sine[t] == 0));
            if (split) CHECK((found.cosine_low[t] == 0 && found.sine_low[t] == 0));
          } else {
            CHECK(std::isfinite(angle) == std::isfinite(found.cosine[t]));
            CHECK(std::isfinite(angle) == std::isfinite(found.sine[t]));
            CHECK(std::isnan(found.cosine[t]) == !std::isfinite(angle));
          }
        }
      }
    }
  });
}

// The instruction set, the place in a row and the neighbours change no bit.
TEST_CASE("optimized/rotations/targets_and_places_agree", "[optimized]") {
  generator random(31);
  std::vector<frequency> theta = spread_frequencies(random, 70, -60, 3);
  theta[11].high = nan<double>, theta[29].high = inf<double>, theta[30].high = 0, theta[50].high = 1e-300;
  REQUIRE(force_target("baseline"));
  for (const double m : {0.0, 1.0, 77.0, -1234567.0, 0x1.23456789abcdp+38, 1e-9}) {
    rotations expected(theta.size(), false), expected_parts(theta.size(), true);
    REQUIRE(force_target("baseline"));
    prepared_frequencies(theta).find(active_kernels(), m, expected);
    prepared_frequencies(theta).find(active_kernels(), m, expected_parts);
    on_every_target([&] {
      for (std::size_t count = 0; count <= theta.size(); ++count) {
        const auto begin = theta.end() - static_cast<std::ptrdiff_t>(count);
        const prepared_frequencies prepared({begin, theta.end()});
        rotations found(count, false), parts(count, true);
        prepared.find(active_kernels(), m, found);
        prepared.find(active_kernels(), m, parts);
        // The places of `theta` from which these frequencies were taken.
        const auto last = [&](const std::vector<double>& all) {
          return std::vector<double>(all.end() - static_cast<std::ptrdiff_t>(count), all.end());
        };
        const auto equal = [](const std::vector<double>& a, const std::vector<double>& b) {
          return std::equal(a.begin(), a.end(), b.begin(), b.end(), same<double>);
        };
        CAPTURE(m, count);
        CHECK(equal(found.cosine, last(expected.cosine)));
        CHECK(equal(found.sine, last(expected.sine)));
        CHECK(equal(parts.cosine, last(expected_parts.cosine)));
        CHECK(equal(parts.cosine_low, last(expected_parts.cosine_low)));
        CHECK(equal(parts.sine, last(expected_parts.sine)));
        CHECK(equal(parts.sine_low, last(expected_parts.sine_low)));
      }
    });
  }
}

}  // namespace assay::optimized::tests
