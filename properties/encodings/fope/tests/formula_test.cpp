// Series of few terms, by hand, and the counts of frequencies in models.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "properties/kinds/table.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

namespace {

std::vector<double> outputs_of(const char* operation, const core::tensors& inputs, const core::attributes& settings) {
  const core::tensor y =
      reference::certify({reference::find_operation(operation), dtype::f64, inputs, settings}).at("y").rounded;
  return {y.values.begin(), y.values.end()};
}

}  // namespace

TEST_CASE("fope/kept/of_models", "[property]") {
  const auto kept = [](std::int64_t pairs, double base, double length, const char* rule = "at_least") {
    return properties::table_by_hand("fope/kept", {{"length", {length}}},
                                     {{"pairs", pairs}, {"base", base}, {"rule", std::string(rule)}})[0];
  };
  CHECK(kept(32, 1e4, 512) == 16);
  CHECK(kept(64, 1e4, 4096) == 46);
  CHECK(kept(64, 5e5, 8192) == 35);
  CHECK(kept(64, 5e5, 8192, "above") == 35);
  CHECK(kept(64, 5e6, 262144) == 45);
  CHECK(kept(64, 1e4, 6) == 0);  // 6 < 2 pi
  CHECK(kept(64, 1e4, 7) == 1);
  CHECK(kept(16, 1e4, 2e9) == 16);
  CHECK(kept(64, 1e4, 512, "count") == 40);
  CHECK(kept(32, 1e4, 512, "count") == 32);
  // Only the first one or two frequencies make a full turn at any possible length.
  CHECK(kept(64, 1e300, 7) == 1);
  CHECK(kept(64, 1e300, 2e9) == 2);
  CHECK(kept(64, std::numeric_limits<double>::max(), 2e9) == 2);
}

// The product of lengths and pairs is more than a program may hold.
TEST_CASE("fope/kept/many_lengths_of_many_pairs", "[property]") {
  const std::vector<double> lengths(30000, 512);
  const auto kept =
      properties::table_by_hand("fope/kept", {{"length", lengths}}, {{"pairs", std::int64_t{4096}}, {"base", 1e4}});
  CHECK(std::ranges::all_of(kept, [](double k) { return k == 1957; }));
}

TEST_CASE("fope/rotate/by_hand", "[property]") {
  // Two frequencies, one of them 0, and one column: c = cos 2 + 3, s = 5 sin 2. The other pair is padded.
  const core::tensors inputs{{"x", make_tensor(dtype::f64, {1, 1, 1, 4}, {1, 10, 0, 20})},
                             {"omega", make_tensor(dtype::f64, {2}, {1, 0})},
                             {"c_cos", make_tensor(dtype::f64, {1, 2, 1}, {1, 3})},
                             {"c_sin", make_tensor(dtype::f64, {1, 2, 1}, {5, 7})},
                             {"position", make_tensor(dtype::i64, {1, 1}, {2})}};
  auto y = outputs_of("fope/rotate", inputs, {});
  CHECK(y[0] == Approx(std::cos(2.0) + 3).epsilon(1e-15));
  CHECK(y[1] == -10.0);
  CHECK(y[2] == Approx(5 * std::sin(2.0)).epsilon(1e-15));
  CHECK(y[3] == 30.0);
  y = outputs_of("fope/rotate", inputs, {{"padding", std::string("identity")}, {"normalized", true}});
  CHECK(y[0] == Approx((std::cos(2.0) + 3) / 4).epsilon(1e-15));
  CHECK(y[1] == 10.0);
  CHECK(y[2] == Approx(5 * std::sin(2.0) / 12).epsilon(1e-15));
  CHECK(y[3] == 20.0);
}

// With the identity as coefficients, the operation is RoPE.
TEST_CASE("fope/rotate/rope_of_the_identity", "[property]") {
  const core::tensor x = make_tensor(dtype::f64, {1, 1, 2, 4}, {1, 2, 3, 4, -5, 6, -7, 8}),
                     omega = make_tensor(dtype::f64, {2}, {0.75, 0.01}),
                     identity = make_tensor(dtype::f64, {1, 2, 2}, {1, 0, 0, 1});
  CHECK(outputs_of("fope/rotate",
                   {{"x", x},
                    {"omega", omega},
                    {"c_cos", identity},
                    {"c_sin", identity},
                    {"position", make_tensor(dtype::i64, {1, 1}, {100})}},
                   {}) == outputs_of("rope/rotate_by",
                                     {{"x", x}, {"theta", omega}, {"position", make_tensor(dtype::f64, {1, 1}, {100})}},
                                     {{"layout", std::string("half_split")}}));
}
