// Estimates of sum |slope| roundoff by random experiments, where the sum is known.
#include "reference/formula/sketch.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "reference/core/counter_random.hpp"
#include "reference/formula/evaluate.hpp"
#include "reference/formula/recording.hpp"

using namespace assay;
using namespace assay::reference;
using core::dtype;
using formula::recording;
using formula::traced;

namespace {

core::tensors numbers(const formula::program& p, std::uint64_t seed) {
  core::counter_random random(seed);
  core::tensors all;
  for (const formula::node_id k : p.inputs()) {
    core::tensor t = core::zeros(dtype::f32, p.type_of(k).shape);
    for (double& x : t.values.storage()) x = core::round_to(dtype::f32, random.normal());
    all.emplace(p.nodes()[k].text, std::move(t));
  }
  return all;
}
double element_of(const core::tensors& all, const std::string& name, std::size_t i = 0) {
  return all.at(name).values.storage()[i];
}
std::vector<double> sketched_bounds(const formula::program& p, const core::tensors& given, const std::string& output) {
  const auto found = formula::sketch_of(p, given, dtype::f32, {}, 256);
  REQUIRE(found);
  return {found->at(output).begin(), found->at(output).end()};
}
std::vector<double> forward_bounds(const formula::program& p, const core::tensors& given, const std::string& output) {
  const auto law = formula::law_of(p, given, dtype::f32, {});
  return {law.at(output).k.begin(), law.at(output).k.end()};
}
void check_near(double x, double expected) {
  INFO(x << " " << expected);
  CHECK(x > 0.75 * expected);
  CHECK(x < 1.3 * expected);
}

}  // namespace

TEST_CASE("formula/sketch/is_the_sum_of_slopes_times_roundoff", "[unit]") {
  recording recorder;
  const auto x = recorder.input("x", {8}), y = recorder.input("y", {8});
  const auto p = x * y;
  recorder.output("product", p);
  recorder.output("once", p + p);            // one rounding that is used twice, and one rounding of the sum
  recorder.output("cancels", p - p);         // its slopes cancel
  recorder.output("exponential", exp(p));    // 2 u for the exponential
  recorder.output("quotient", (p + x) / y);  // three roundings
  const formula::program made = recorder.finish();
  const core::tensors given = numbers(made, 1);
  for (std::size_t i = 0; i < 8; ++i) {
    const double a = element_of(given, "x", i), b = element_of(given, "y", i), r = std::fabs(a * b);
    check_near(sketched_bounds(made, given, "product")[i], r);
    check_near(sketched_bounds(made, given, "once")[i], 2.0 * r + 2.0 * r);
    CHECK(sketched_bounds(made, given, "cancels")[i] < 1e-200);
    check_near(sketched_bounds(made, given, "exponential")[i], std::exp(a * b) * (r + 2.0));
    check_near(sketched_bounds(made, given, "quotient")[i],
               (r + std::fabs(a * b + a)) / std::fabs(b) + std::fabs((a * b + a) / b));
  }
}

// A difference that should be 0 has only its roundings; a number far below these is lost beside them.
TEST_CASE("formula/sketch/what_is_added_to_rounding_errors_is_rounded_with_them", "[unit]") {
  recording recorder;
  const auto x = recorder.input("x", {1}), y = recorder.input("y", {1});
  const auto tenth = x / traced(10.0), nothing = tenth - tenth * traced(10.0) / traced(10.0);
  recorder.output("z", nothing + y - nothing);
  const formula::program made = recorder.finish();
  core::tensors given = numbers(made, 1);
  given.at("x").values.storage()[0] = 1.0, given.at("y").values.storage()[0] = 0x1p-70;
  const double u = core::unit_roundoff(dtype::f32), bound = sketched_bounds(made, given, "z")[0] * u;
  CHECK(bound > 0.1 * u * u);
  CHECK(bound < 10.0 * u * u);
}

TEST_CASE("formula/sketch/a_branch_that_roundings_decide_is_there", "[unit]") {
  recording recorder;
  const auto x = recorder.input("x", {1}), y = recorder.input("y", {1});
  const auto tie = (x + y) - y;  // near x, with the roundings of x + y
  recorder.output("step", either(less(x, tie), x + traced(5.0), x));
  const formula::program made = recorder.finish();
  core::tensors given = numbers(made, 1);
  given.at("x").values.storage()[0] = 1.0, given.at("y").values.storage()[0] = 0.7;
  const double u = core::unit_roundoff(dtype::f32);
  CHECK(sketched_bounds(made, given, "step")[0] * u > 0.75 * 5.0);
}

// S <- S - b k (S^T k - v)^T: carried forward, errors grow with 1 + |b k k^T| at each step.
TEST_CASE("formula/sketch/sees_that_a_delta_rule_forgets", "[unit]") {
  constexpr std::size_t turns = 128, d = 8;
  recording recorder;
  auto state = recorder.input("s", {d, d});
  for (std::size_t t = 0; t < turns; ++t) {
    const auto k = recorder.input("k" + std::to_string(t), {d, 1}), v = recorder.input("v" + std::to_string(t), {1, d});
    const traced seen = reshaped(summed(state * k, {0}), {1, d});
    state = state - traced(0.5) * k * (seen - v);
  }
  recorder.output("s_n", state);
  const formula::program made = recorder.finish();
  double worst = 0.0, loose = 0.0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    core::tensors given = numbers(made, seed);
    for (std::size_t t = 0; t < turns; ++t) {
      auto& k = given.at("k" + std::to_string(t)).values.storage();
      double square = 0.0;
      for (const double x : k) square += x * x;
      for (double& x : k) x = core::round_to(dtype::f32, x / std::sqrt(square));
    }
    const auto sketch = sketched_bounds(made, given, "s_n"), forward = forward_bounds(made, given, "s_n");
    const auto truth = formula::certify(made, given, dtype::f64);
    const auto plain = formula::evaluate_in(made, given, dtype::f32, dtype::f32);
    REQUIRE((truth && plain));
    for (std::size_t i = 0; i < sketch.size(); ++i) {
      const double off = std::fabs(plain->at("s_n").values.storage()[i] - truth->at("s_n").truth(i));
      worst = std::max(worst, off / (core::unit_roundoff(dtype::f32) * sketch[i]));
      loose = std::max(loose, forward[i] / sketch[i]);
    }
  }
  INFO(worst << " " << loose);
  CHECK(worst < 0.5);
  CHECK(worst > 0.005);
  CHECK(loose > 1e6);
}
