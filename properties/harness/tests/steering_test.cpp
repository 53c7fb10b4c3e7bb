// Cases inside declared domains. The operation is made up: the harness knows no encoding.
#include "properties/harness/steering.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <set>

using namespace assay;
using namespace assay::properties;

namespace {

const core::operation& made_up() {
  static const core::operation op{
      .name = "made_up/sum",
      .inputs = {{.name = "x", .axes = {"n"}}, {.name = "position", .axes = {"B", "n"}, .own_type = core::dtype::i64}},
      .outputs = {{.name = "y", .axes = {"n"}}}};
  return op;
}

test_case case_of(std::vector<double> x, std::vector<double> position) {
  const std::size_t n = x.size();
  test_case c{{&made_up(), core::dtype::f32, {}}, "mild", 1};
  c.call.inputs = {{"x", core::make_tensor(core::dtype::f32, {n}, x)},
                   {"position", core::make_tensor(core::dtype::i64, {position.size() / n, n}, position)}};
  return c;
}

const std::vector<double>& no_positions() {
  static const std::vector<double> all{7, 3, 7, 9};
  return all;
}

// The results of 64 draws from a case: whether every number lies inside and each row is consecutive; which ends were
// met in some draw, and whether one draw met both.
struct steered {
  bool inside = true, low = false, high = false, both = false, consecutive = true;
};
steered steer_often(const test_case& c, const std::string& input, const declared_domain& d) {
  steered all;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    test_case moved = c;
    core::counter_random random(seed);
    steer_into(moved, {{input, d}}, random);
    bool low = false, high = false;
    const core::tensor& t = moved.call.inputs.at(input);
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double x = t.values.storage()[i];
      all.inside = all.inside && x >= d.low && x <= d.high && core::round_to(t.type, x) == x;
      low = low || x == d.low;
      high = high || x == d.high;
      if (i % t.shape().back() != 0) all.consecutive = all.consecutive && x == t.values.storage()[i - 1] + 1;
    }
    all.low = all.low || low;
    all.high = all.high || high;
    all.both = all.both || (low && high);
  }
  return all;
}

}  // namespace

TEST_CASE("harness/steering/numbers_lie_inside_and_reach_both_ends", "[unit]") {
  const test_case c = case_of({-5, 0.25, 100, 1e-3}, no_positions());
  for (const declared_domain d : {declared_domain{-1, 2}, declared_domain{0.5, 4096}, declared_domain{-64, -0.125}}) {
    const steered s = steer_often(c, "x", d);
    CHECK(s.inside);
    CHECK(s.low);
    CHECK(s.high);
    CHECK(s.both);
  }
}

TEST_CASE("harness/steering/one_end_alone_mirrors", "[unit]") {
  declared_domain below;
  below.high = 0;
  const steered s = steer_often(case_of({-5, 0.25, 100, 1e-3}, no_positions()), "x", below);
  CHECK(s.inside);
  CHECK(s.high);
  CHECK_FALSE(s.low);
}

TEST_CASE("harness/steering/consecutive_rows_stay_consecutive", "[unit]") {
  const test_case rows = case_of({1, 1, 1}, {5000, 5001, 5002, 10, 11, 12});
  const steered s = steer_often(rows, "position", {0, 2047});
  CHECK(s.inside);
  CHECK(s.consecutive);
  CHECK(s.low);
  CHECK(s.high);
  // A row too long for the domain cannot be consecutive.
  const steered cramped = steer_often(rows, "position", {4, 5});
  CHECK(cramped.inside);
  CHECK_FALSE(cramped.consecutive);
}

TEST_CASE("harness/steering/sizes_lie_inside_and_differ", "[unit]") {
  std::set<std::size_t> lengths;
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    const core::axis_sizes moved =
        sizes_inside({{"B", 2}, {"n", 5}, {"d", 300}}, {{"n", {0, 1000, 64}}, {"d", {2, 256, 2}}}, seed);
    CHECK(moved.at("B") == 2);
    CHECK(moved.at("d") == 256);
    lengths.insert(moved.at("n"));
  }
  CHECK(lengths == std::set<std::size_t>{64, 128, 192});
  CHECK(sizes_inside({{"n", 128}}, {{"n", {0, 1000, 64}}}, 1).at("n") == 128);
}

TEST_CASE("harness/steering/what_is_not_finite_or_has_no_number_is_left_alone", "[unit]") {
  for (const double x : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    test_case c = case_of({x, 100}, {1, 2});
    core::counter_random random(1);
    steer_into(c, {{"x", {-1, 1}}}, random);
    CHECK(c.call.inputs.at("x").values.storage()[1] == 100);
  }
  test_case c = case_of({3, 100}, {1, 2});
  core::counter_random random(1);
  steer_into(c, {{"position", {0.25, 0.75}}}, random);  // no integer lies inside
  CHECK(c.call.inputs.at("position").values.storage()[0] == 1);
}
