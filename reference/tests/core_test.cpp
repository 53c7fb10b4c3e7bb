#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "reference/core/counter_random.hpp"
#include "reference/core/operation.hpp"
#include "reference/oracle.hpp"

using namespace assay::core;

TEST_CASE("core/dtype/bits_round_trip", "[unit]") {
  for (const dtype t : {dtype::f16, dtype::bf16})
    for (std::uint64_t bits = 0; bits < 65536; ++bits) {
      const double x = from_bits(t, bits);
      if (std::isnan(x)) continue;
      REQUIRE(to_bits(t, x) == bits);
      REQUIRE(round_to(t, x) == x);
    }
}

TEST_CASE("core/dtype/rounds_to_nearest_even", "[unit]") {
  // f32 against the processor's own conversion, at all exponents and near ties.
  counter_random random(1);
  for (int k = 0; k < 200000; ++k) {
    const double x = random.sign() * std::ldexp(1.0 + random.uniform(), static_cast<int>(random.below(300)) - 160);
    REQUIRE(round_to(dtype::f32, x) == static_cast<double>(static_cast<float>(x)));
    const double tie = static_cast<float>(x) + half_ulp(dtype::f32, static_cast<float>(x));
    REQUIRE(round_to(dtype::f32, tie) == static_cast<double>(static_cast<float>(tie)));
  }
  // In every format the neighbours enclose x, and the nearer one is taken; at the midpoint it is the even one.
  for (const dtype t : {dtype::f32, dtype::f16, dtype::bf16})
    for (int k = 0; k < 20000; ++k) {
      const double x = random.sign() * std::ldexp(1.0 + random.uniform(), static_cast<int>(random.below(40)) - 26);
      const double r = round_to(t, x);
      if (std::isinf(r)) continue;
      REQUIRE(std::fabs(x - r) <= (x > r ? next_above(t, r) - r : r - next_below(t, r)) / 2);
      const double middle = (r + next_above(t, r)) / 2;
      if (std::isfinite(middle)) REQUIRE(to_bits(t, round_to(t, middle)) % 2 == 0);
    }
  CHECK(std::isinf(round_to(dtype::f16, 65520.0)));
  CHECK(round_to(dtype::f16, 65519.9) == 65504.0);
  CHECK(round_to(dtype::f16, 0x1p-25) == 0.0);
  CHECK(round_to(dtype::f16, 0x1.8p-25) == 0x1p-24);
}

TEST_CASE("core/dtype/half_ulp", "[unit]") {
  CHECK(half_ulp(dtype::f32, 1.0) == 0x1p-24);
  CHECK(half_ulp(dtype::f32, 1.5) == 0x1p-24);
  CHECK(half_ulp(dtype::f32, 0.0) == 0x1p-150);
  CHECK(half_ulp(dtype::f64, 2.0) == 0x1p-52);
  CHECK(half_ulp(dtype::bf16, 4.0) == 0x1p-6);
  CHECK(half_ulp(dtype::f16, std::numeric_limits<double>::infinity()) == 0.0);
  // For subnormals: half the smallest one, where that is a double; for f64 it is none, and is rounded up.
  CHECK(half_ulp(dtype::f32, 0x1p-149) == 0x1p-150);
  CHECK(half_ulp(dtype::f16, 0x1.8p-20) == 0x1p-25);
  CHECK(half_ulp(dtype::bf16, 0x1p-130) == 0x1p-134);
  for (const double x : {0.0, 0x1p-1074, -0x1.8p-1030, 0x1p-1022, 0x1.fp-1022})
    CHECK(half_ulp(dtype::f64, x) == 0x1p-1074);
  CHECK(half_ulp(dtype::f64, 0x1p-1021) == 0x1p-1074);
  CHECK(half_ulp(dtype::f64, 0x1p-1020) == 0x1p-1073);
}

namespace {

const operation& scan() { return *assay::reference::find_operation("heinsen/scan"); }

tensors scan_inputs() {
  return {
      {"log_p", zeros(dtype::f32, {2, 3, 4})}, {"h", zeros(dtype::f32, {2, 3, 4})}, {"s0", zeros(dtype::f32, {2, 4})}};
}

std::string error_of(const tensors& inputs) {
  const auto sizes = check_request({&scan(), dtype::f32, inputs});
  return sizes ? "" : sizes.error().message;
}

}  // namespace

TEST_CASE("core/operation/refuses_wrong_inputs_by_name", "[unit]") {
  CHECK(check_request({&scan(), dtype::f32, scan_inputs()}).value() == axis_sizes{{"B", 2}, {"n", 3}, {"d", 4}});

  tensors missing = scan_inputs();
  missing.erase("h");
  CHECK(error_of(missing) == "heinsen/scan: input 'h' is missing");

  tensors typed = scan_inputs();
  typed["h"] = zeros(dtype::f64, {2, 3, 4});
  CHECK(error_of(typed) == "heinsen/scan: input 'h' must be f32 but is f64");

  tensors shaped = scan_inputs();
  shaped["s0"] = zeros(dtype::f32, {2, 5});
  CHECK(error_of(shaped) == "heinsen/scan: input 's0' must have shape [B, d] with d = 4 (from 'log_p') but has [2, 5]");

  tensors ranked = scan_inputs();
  ranked["s0"] = zeros(dtype::f32, {2, 4, 1});
  CHECK(error_of(ranked) == "heinsen/scan: input 's0' must have shape [B, d] but has [2, 4, 1]");

  tensors extra = scan_inputs();
  extra["x"] = zeros(dtype::f32, {1});
  CHECK(error_of(extra) == "heinsen/scan: unknown input 'x' (expected: log_p, h, s0)");
}

TEST_CASE("core/operation/multiples_of_an_axis", "[unit]") {
  const operation& op = *assay::reference::find_operation("heinsen/embed_position");
  tensors in{{"x", zeros(dtype::f64, {1, 2, 3})}, {"W_H", zeros(dtype::f64, {8, 3})},
             {"b_H", zeros(dtype::f64, {8})},     {"W_R", zeros(dtype::f64, {3, 4})},
             {"b_R", zeros(dtype::f64, {3})},     {"s0", zeros(dtype::f64, {1, 4})}};
  CHECK(check_request({&op, dtype::f64, in}).value().at("d") == 4);
  // Restricting d keeps the same features of both halves of W_H.
  for (std::size_t i = 0; i < 8; ++i) in["b_H"].values(i) = static_cast<double>(i);
  const tensor b = restrict_axis(op, in, "d", {1, 3}).at("b_H");
  CHECK(std::vector<double>(b.values.begin(), b.values.end()) == std::vector<double>{1, 3, 5, 7});
  in["b_H"] = zeros(dtype::f64, {7});
  CHECK(check_request({&op, dtype::f64, in}).error().message ==
        "heinsen/embed_position: input 'b_H' must have shape [2d] with d = 4 (from 'W_R') but has [7]");
}

TEST_CASE("core/operation/axes_of_windows_and_grids", "[unit]") {
  const operation op{.name = "a/b",
                     .inputs = {parameter("t", {"2H-1", "W"}, ""), parameter("k", {"k"}, "")},
                     .outputs = {{.name = "y", .axes = {"H*W+1", "H*W+k"}}}};
  tensors in{{"t", zeros(dtype::f64, {5, 2})}, {"k", zeros(dtype::f64, {4})}};
  const axis_sizes sizes = check_request({&op, dtype::f64, in}).value();
  CHECK(sizes == axis_sizes{{"H", 3}, {"W", 2}, {"k", 4}});
  CHECK(sizes_of({&op, dtype::f64, in}) == sizes);
  CHECK(shape_of(op.outputs[0], sizes) == shape{7, 10});
  // Two of three places have differences from -1 to 1.
  CHECK(restrict_axis(op, in, "H", {0, 2}).at("t").shape() == shape{3, 2});
  CHECK(restrict_axis(op, in, "H", {}).at("t").shape() == shape{0, 2});
  in["t"] = zeros(dtype::f64, {4, 2});
  CHECK(check_request({&op, dtype::f64, in}).error().message ==
        "a/b: input 't' must have shape [2H-1, W] but has [4, 2]: axis 0 and 1 more must be a multiple of 2");
  in["t"] = zeros(dtype::f64, {0, 2});
  CHECK(check_request({&op, dtype::f64, in}).value().at("H") == 0);
}

TEST_CASE("core/operation/strict_domain_names_tensor_and_index", "[unit]") {
  tensors in = scan_inputs();
  CHECK(check_domain(scan(), in));
  in["log_p"].values(1, 2, 3) = 0.5;
  CHECK(check_domain(scan(), in).error().message ==
        "heinsen/scan: input 'log_p' at index [1, 2, 3] is 0.500000, outside the domain of the operation");
  in = scan_inputs();
  in["h"].values(0, 1, 0) = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(check_domain(scan(), in));
  in["h"].values(0, 1, 0) = std::numeric_limits<double>::infinity();
  CHECK_FALSE(check_domain(scan(), in));
  in["h"].values(0, 1, 0) = -std::numeric_limits<double>::infinity();
  CHECK(check_domain(scan(), in));
}
