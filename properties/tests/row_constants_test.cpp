// Scores that differ by a constant for each row are the same after softmax; no other scores are (vllm-project/vllm#945:
// a constant shift of ALiBi is no bug).
#include "properties/laws/row_constants.hpp"

#include <catch2/catch.hpp>

#include "properties/tests/gating.hpp"
#include "reference/core/special_values.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

using assay::core::infinity;

/// One head, two queries, three keys.
measured_call scores(const std::vector<double>& x, double allowed = 0.0) {
  return {{{"bias", core::make_tensor(core::dtype::f64, {1, 2, 3}, x)}},
          {{"bias", std::vector<double>(x.size(), allowed)}}};
}

bool same(const measured_call& x, const measured_call& y) {
  comparisons all;
  return !compare_modulo_row_constants(all, "bias", x, y).has_value();
}

}  // namespace

TEST_CASE("laws/row_constants/each_row_has_its_own", "[unit]") {
  const measured_call x = scores({-2, -1, 0, -3, -2, -1});
  CHECK(same(x, x));
  CHECK(same(x, scores({0, 1, 2, 97, 98, 99})));
  CHECK_FALSE(same(x, scores({0, 1, 2, 97, 98, 99.5})));
  CHECK_FALSE(same(x, scores({2, 1, 0, -3, -2, -1})));
}

TEST_CASE("laws/row_constants/masked_keys_stay_masked", "[unit]") {
  const measured_call x = scores({0, -infinity, -infinity, -1, 0, -infinity});
  CHECK(same(x, scores({5, -infinity, -infinity, 0, 1, -infinity})));
  CHECK_FALSE(same(x, scores({5, -infinity, -10000, 0, 1, -infinity})));
  CHECK_FALSE(same(x, scores({5, -infinity, infinity, 0, 1, -infinity})));
  const measured_call behind_mask = scores({-infinity, 0, 1, -infinity, -infinity, 2});
  CHECK(same(behind_mask, scores({-infinity, 7, 8, -infinity, -infinity, 0})));
  CHECK_FALSE(same(behind_mask, scores({-infinity, 7, 9, -infinity, -infinity, 0})));
}

TEST_CASE("laws/row_constants/errors_of_four_numbers_are_allowed", "[unit]") {
  const measured_call x = scores({0, 1, 2, 0, 1, 2}, 0.25);
  CHECK(same(x, scores({0, 1, 2.75, 0, 1, 2}, 0.25)));
  CHECK_FALSE(same(x, scores({0, 1, 3.125, 0, 1, 2}, 0.25)));
}

// Adding to a row is invisible only if no number that is no logit of the row competes with it. The law alone, not just
// the comparison with the truth, detects a null key and a mask that is a finite number.
TEST_CASE("laws/row_constants/competitors_break_the_law_of_attention", "[property]") {
  const core::operation& op = *reference::find_operation("attention/output");
  const property& law = *find_property("attention_row_constants");
  for (const char* broken : {"mutant/attention_padded_keys_count", "mutant/attention_mask_is_finite"}) {
    INFO(broken);
    const auto under_test = make_builtin(broken).value();
    CHECK(run_property(law, *under_test, op, core::dtype::f32, testing::options(12)).verdict() == status::failed);
  }
  const auto right = make_builtin("sequential").value();
  CHECK(run_property(law, *right, op, core::dtype::f32, testing::options(12)).verdict() == status::passed);
}

TEST_CASE("laws/row_constants/what_could_not_fail_says_nothing", "[unit]") {
  const auto verdict = [](double allowed) {
    comparisons all;
    const measured_call x = scores({-2, -1, 0, -3, -2, -1}, allowed);
    CHECK_FALSE(compare_modulo_row_constants(all, "bias", x, x));
    return all.result().verdict;
  };
  CHECK(verdict(0.1) == status::passed);
  CHECK(verdict(1.0) == status::uninformative);
}
