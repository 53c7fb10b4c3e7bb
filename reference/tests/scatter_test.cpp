#include "reference/scatter.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "reference/core/counter_random.hpp"
#include "reference/evaluate_in.hpp"
#include "reference/readings/rounded.hpp"

using namespace assay;
using namespace assay::reference;

namespace {

core::precisions random_precisions(core::dtype type, std::uint64_t seed) {
  return core::precisions(type).at_random(seed);
}

std::vector<double> numbers(std::size_t count) {
  core::counter_random random(7);
  std::vector<double> all(count);
  for (double& x : all) x = core::round_to(core::dtype::f32, random.normal());
  return all;
}

// s_i = s_{i-1} + x_i in the arithmetic of the thread, and the sum of the squares of the spacings to which it is
// rounded.
struct added_up {
  std::vector<double> sums{};
  double squares = 0;
};
added_up added(const std::vector<double>& x) {
  added_up all;
  rounded sum(0.0);
  for (const double one : x) {
    sum = sum + rounded(one);
    all.sums.push_back(sum.number);
    all.squares += std::pow(2.0 * core::half_ulp(core::dtype::f32, sum.number), 2.0);
  }
  return all;
}

}  // namespace

TEST_CASE("scatter/a_rounding_goes_to_a_neighbour_and_its_mean_is_right", "[unit]") {
  for (const core::dtype type : {core::dtype::f32, core::dtype::f16, core::dtype::bf16})
    for (const double x : {0.1, 1.0 / 3.0, 1000.7}) {
      const double nearest = core::round_to(type, x);
      const double below = nearest > x ? core::next_below(type, nearest) : nearest,
                   above = core::next_above(type, below);
      double mean = 0;
      constexpr int runs = 4000;
      for (int seed = 0; seed < runs; ++seed) {
        const computing_in format(random_precisions(type, seed));
        const double y = rounded(x).number;
        CHECK((y == below || y == above));
        CHECK(rounded(-x).number == -y);
        CHECK(rounded(x).number == y);
        mean += y / runs;
      }
      CHECK(std::fabs(mean - x) < 4.0 * (above - below) / (2.0 * std::sqrt(runs)));
    }
}

TEST_CASE("scatter/what_is_a_number_of_the_format_stays", "[unit]") {
  for (const core::dtype type : {core::dtype::f32, core::dtype::f16, core::dtype::bf16}) {
    const computing_in format(random_precisions(type, 3));
    for (const double x : {0.0, 1.0, -0.75, core::largest_finite(type), core::smallest_normal(type),
                           std::ldexp(core::smallest_normal(type), -3), HUGE_VAL})
      CHECK(rounded(x).number == x);
    CHECK(std::isnan(rounded(std::nan("")).number));
    CHECK(std::isinf(rounded(2.0 * core::largest_finite(type)).number));
  }
  // Inputs are lifted in a scope of their own, where nothing is rounded.
  const computing_in outer(random_precisions(core::dtype::f32, 3));
  const computing_in exact(core::dtype::f64);
  CHECK(rounded(0.1).number == 0.1);
}

// A sum has one rounding at each step, which reaches the end with slope 1. It is uniform on the spacing, so its
// variance is a sixth of the square of the spacing.
TEST_CASE("scatter/deviations_are_those_of_a_sweep_back", "[unit]") {
  const std::vector<double> x = numbers(2000);
  const added_up exact = [&] {
    const computing_in format(core::dtype::f64);
    return added(x);
  }();
  double square = 0;
  constexpr int runs = 400;
  for (int seed = 0; seed < runs; ++seed) {
    const computing_in format(random_precisions(core::dtype::f32, seed));
    square += std::pow(added(x).sums.back() - exact.sums.back(), 2.0) / runs;
  }
  const double predicted = std::sqrt(exact.squares / 6.0);
  INFO(std::sqrt(square) << " " << predicted);
  CHECK(std::sqrt(square) > 0.85 * predicted);
  CHECK(std::sqrt(square) < 1.15 * predicted);
}

TEST_CASE("scatter/of_f64_is_that_of_a_coarser_format_scaled", "[unit]") {
  const core::operation& op = *find_operation("alibi/bias:vjp");
  const core::axis_sizes sizes{{"B", 1}, {"h", 2}, {"n", 64}, {"m", 64}};
  const auto deviation_in = [&](core::dtype type) {
    core::request call{&op, type, {}, {}};
    core::counter_random random(5);
    for (const core::tensor_declaration& d : op.inputs) {
      core::tensor t = core::zeros(d.own_type.value_or(type), core::shape_of(d, sizes));
      double next = 0.0;
      for (double& v : t.values.storage()) v = d.own_type ? next++ : core::round_to(type, random.normal());
      call.inputs.emplace(d.name, std::move(t));
    }
    REQUIRE(core::check_request(call));
    const auto found = scatter_of(call, type, accuracy_class::sequential, truth_of(call), 64);
    REQUIRE(found.size() == 1);
    CHECK(found.begin()->second.at_random.size() == 64);
    return found.begin()->second.deviations().front() / core::unit_roundoff(type);
  };
  const double narrow = deviation_in(core::dtype::f32), wide = deviation_in(core::dtype::f64);
  INFO(narrow << " " << wide);
  CHECK(narrow > 0.7 * wide);
  CHECK(narrow < 1.4 * wide);
}
