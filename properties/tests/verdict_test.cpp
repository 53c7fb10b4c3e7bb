// The verdict rule on cases small enough to check by hand.
#include "properties/harness/verdict.hpp"

#include <mpfr.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "properties/harness/property.hpp"
#include "properties/tests/gating.hpp"
#include "reference/core/special_values.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;
using assay::properties::testing::rounded_truth_of;
using core::dtype;
using reference::accuracy_class;

namespace {

using assay::core::infinity;
const double not_a_number = std::numeric_limits<double>::quiet_NaN();

request scan(dtype type, const std::vector<double>& log_p, const std::vector<double>& h, double s0) {
  const core::shape lane{1, h.size(), 1};
  return {reference::find_operation("heinsen/scan"),
          type,
          {{"log_p", core::make_tensor(type, lane, log_p)},
           {"h", core::make_tensor(type, lane, h)},
           {"s0", core::make_tensor(type, {1, 1}, {s0})}}};
}

// The verdict if output `name` has x at `index` and everything else is the truth.
value_report with(const expectation& e, const std::string& name, std::size_t index, double x) {
  core::tensors out = rounded_truth_of(e);
  out.at(name).values.storage()[index] = x;
  return judge(e, out);
}

}  // namespace

TEST_CASE("properties/verdict/the_truth_is_uniform", "[unit]") {
  const auto e_held = expect(scan(dtype::f32, {-1, -2, -0.5}, {0.3, -1, 2}, 0.7), dtype::f32);
  const expectation& e = *e_held;
  const value_report r = judge(e, rounded_truth_of(e));
  CHECK(r.passed);
  CHECK(r.informative);
  CHECK(r.accuracy_class() == accuracy_class::uniform);
  CHECK(r.largest_ulp <= 0.5);
}

TEST_CASE("properties/verdict/errors_beyond_every_law_are_bugs", "[unit]") {
  const auto e_held = expect(scan(dtype::f32, {-1, -2, -0.5}, {0.3, -1, 2}, 0.7), dtype::f32);
  const expectation& e = *e_held;
  const double s = e.truth.at("s").rounded.values.storage()[1];
  const value_report wrong = with(e, "s", 1, core::round_to(dtype::f32, s + 1e-4));
  CHECK_FALSE(wrong.passed);
  CHECK(wrong.worst.output == "s");
  CHECK(wrong.worst.index == 1);
  CHECK_FALSE(wrong.accuracy_class());
  CHECK(with(e, "s", 1, core::next_above(dtype::f32, s)).passed);
  // No error is invisible at any element: NaN and infinities never pass for a finite truth.
  for (const char* name : {"s", "s_n"})
    for (const double x : {not_a_number, infinity, -infinity}) {
      const value_report special = with(e, name, 0, x);
      CHECK_FALSE(special.passed);
      // No error can be measured, and the message names none.
      CHECK(special.message.find("error") == std::string::npos);
      CHECK(special.message.find("allowed") == std::string::npos);
    }
}

TEST_CASE("properties/verdict/numbers_that_differ_are_printed_differently", "[unit]") {
  CHECK(both_in_words(0.25, 0.5) == "0.25 and 0.5");
  CHECK(both_in_words(0.25, 0.25) == "0.25 and 0.25");
  CHECK(both_in_words(0.25, std::nextafter(0.25, 1.0)) == "0.25 and 0.25000000000000006");
  CHECK(both_in_words(0.0, -0.0) == "0 and -0");
}

TEST_CASE("properties/verdict/special_values_by_position_and_sign", "[unit]") {
  const auto e_held = expect(scan(dtype::f64, {-1, -1}, {-infinity, 2}, -infinity), dtype::f64);
  const expectation& e = *e_held;
  CHECK(judge(e, rounded_truth_of(e)).passed);
  for (const double x : {0.0, -1e308, infinity, not_a_number}) CHECK_FALSE(with(e, "s", 0, x).passed);
  const auto n_held = expect(scan(dtype::f64, {-1, -1}, {not_a_number, 2}, 0), dtype::f64);
  const expectation& n = *n_held;
  CHECK(judge(n, rounded_truth_of(n)).passed);
  for (const double x : {0.0, 2.0, -infinity}) CHECK_FALSE(with(n, "s", 0, x).passed);
}

TEST_CASE("properties/verdict/at_the_overflow_threshold_both_are_right", "[unit]") {
  // log(e^65504 + e^65504) = 65504.69: within half an ulp (16) of the largest f16.
  const auto e_held = expect(scan(dtype::f16, {0}, {65504}, 65504), dtype::f16);
  const expectation& e = *e_held;
  CHECK(with(e, "s", 0, 65504).passed);
  CHECK(with(e, "s", 0, infinity).passed);
  CHECK_FALSE(with(e, "s", 0, -infinity).passed);
  CHECK_FALSE(with(e, "s", 0, 0).passed);
}

TEST_CASE("properties/verdict/at_the_end_of_double_both_are_right", "[unit]") {
  // 3 m lies beyond the largest double, by less than doubles can represent.
  constexpr double largest = std::numeric_limits<double>::max();
  const double m = std::nextafter(largest / 3, infinity);
  const request call{reference::find_operation("alibi/bias"),
                     dtype::f64,
                     {{"slopes", core::make_tensor(dtype::f64, {1}, {m})},
                      {"query_position", core::make_tensor(dtype::i64, {1}, {3})},
                      {"key_position", core::make_tensor(dtype::i64, {1}, {0})}}};
  const auto held = expect(call, dtype::f64);
  CHECK(held->truth.at("bias").rounded.values.storage()[0] == -infinity);
  CHECK(with(*held, "bias", 0, -infinity).passed);
  CHECK(with(*held, "bias", 0, -largest).passed);
  CHECK(with(*held, "bias", 0, -largest * (1.0 - 0x1p-20)).passed);  // a sum in another order may give this
  for (const double x : {infinity, largest, 0.0, -largest / 2, not_a_number})
    CHECK_FALSE(with(*held, "bias", 0, x).passed);
}

TEST_CASE("properties/verdict/any_finite_gradient_at_a_dead_position", "[unit]") {
  request call = scan(dtype::f64, {-1, -1}, {-infinity, 2}, -infinity);
  call.operation = reference::find_operation("heinsen/scan:vjp");
  call.inputs.emplace("grad_s", core::make_tensor(dtype::f64, {1, 2, 1}, {1, 1}));
  call.inputs.emplace("grad_s_n", core::make_tensor(dtype::f64, {1, 1}, {0}));
  const auto e_held = expect(call, dtype::f64);
  const expectation& e = *e_held;
  CHECK(with(e, "grad_h", 0, 0.5).passed);
  for (const double x : {infinity, not_a_number}) CHECK_FALSE(with(e, "grad_h", 0, x).passed);
  CHECK_FALSE(with(e, "grad_h", 1, 0.5).passed);
}

TEST_CASE("properties/verdict/trivial_answers_make_a_case_uninformative", "[unit]") {
  // Zeros are right here, so passing proves nothing.
  const auto e_held = expect(scan(dtype::f64, {0}, {-infinity}, 0), dtype::f64);
  const expectation& e = *e_held;
  const value_report r = judge(e, rounded_truth_of(e));
  CHECK(r.passed);
  CHECK_FALSE(r.informative);
}

TEST_CASE("heinsen/scan/a_case_that_the_maximum_passes_by_width_is_uninformative", "[unit]") {
  // s_2 = log(e^(1 - 12) + e) = 1 + 6e-6, and prefix sums of 112 may err by more in f32.
  const auto wide = expect(scan(dtype::f32, {-100, -12}, {1, 1}, 0.7), dtype::f32);
  const value_report r = with(*wide, "s", 1, 1.0);
  CHECK(r.passed);
  CHECK_FALSE(r.informative);
  // Outputs that do not need so wide a law are distinguished from the maximum.
  CHECK(judge(*wide, rounded_truth_of(*wide)).informative);
  // One token for which the maximum misses log 2 is enough.
  const auto near = expect(scan(dtype::f32, {-100, -12, -0.5}, {1, 1, 0.5}, 0.7), dtype::f32);
  CHECK(judge(*near, rounded_truth_of(*near)).informative);
  // s_2 = 5 + 1.2e-27: here the maximum is the right value, and other answers are wrong.
  const auto far = expect(scan(dtype::f64, {-40, -60}, {3, 5}, 0.7), dtype::f64);
  CHECK(judge(*far, rounded_truth_of(*far)).informative);
  // The derivatives depend on the weights of both terms.
  request call = scan(dtype::f64, {-1, -1}, {0.5, 2}, 0.25);
  call.operation = reference::find_operation("heinsen/scan:vjp");
  call.inputs.emplace("grad_s", core::make_tensor(dtype::f64, {1, 2, 1}, {1, 1}));
  call.inputs.emplace("grad_s_n", core::make_tensor(dtype::f64, {1, 1}, {0}));
  const auto back = expect(call, dtype::f64);
  CHECK(judge(*back, rounded_truth_of(*back)).informative);
}

TEST_CASE("properties/domain/cases_outside_a_declared_domain_are_not_sent", "[unit]") {
  description about;
  about.domain["heinsen/scan"] = {{"log_p", {}}, {"state", {}}};
  const auto within = [&](const request& call) { return within_domain(about, {call, "", 0}); };
  CHECK(within(scan(dtype::f32, {-1, -1}, {-infinity, 2}, 0)));
  CHECK_FALSE(within(scan(dtype::f32, {-infinity, -1}, {1, 2}, 0)));   // log_p
  CHECK_FALSE(within(scan(dtype::f32, {-1, -1}, {1, 2}, -infinity)));  // the state before the first token
  CHECK_FALSE(within(scan(dtype::f16, {-8000, -8000}, {1, 2}, 0)));    // n max|log p| >= 65504 / 8
  about.domain["heinsen/scan"] = {{"h", {-1, 1}}};
  CHECK(within(scan(dtype::f32, {-1}, {1}, 0)));
  CHECK_FALSE(within(scan(dtype::f32, {-1}, {1.5}, 0)));
  CHECK_FALSE(within(scan(dtype::f32, {-1}, {not_a_number}, 0)));
}

TEST_CASE("properties/verdict/truths_found_side_by_side_are_the_same", "[unit]") {
  // MPFR keeps constants and flags; each thread must have its own.
  CHECK(mpfr_buildopt_tls_p() != 0);
  std::vector<request> calls;
  for (const core::operation& op : reference::operations())
    for (const family& f : families_of(op))
      if (!f.holds_nan) calls.push_back(make_case({&op, core::dtype::f32, f.name, 77}, f).call);
  expect_all(calls, core::dtype::f32);
  for (const request& call : calls) {
    const auto e = expect(call, core::dtype::f32);
    for (const auto& [name, c] : reference::truth_of(call)) {
      INFO(call.operation->name << " " << name);
      CHECK(core::identical(e->truth.at(name).rounded, c.rounded));
      CHECK(e->truth.at(name).low == c.low);
    }
    for (const auto& [name, a] : reference::allow(call, core::dtype::f32)) {
      INFO(call.operation->name << " " << name);
      for (std::size_t c = 0; c < a.k.size(); ++c)
        CHECK(std::equal(a.k[c].begin(), a.k[c].end(), all_laws(*e)->at(name).k[c].begin(), core::same_value));
    }
  }
}
