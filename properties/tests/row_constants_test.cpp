// Scores that differ by a constant for each row are the same after softmax (vllm-project/vllm#945: a constant
// shift of ALiBi is no bug).
#include <catch2/catch.hpp>

#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;

// Adding to a row is invisible only while nothing that is no logit of the row competes with it: the law by itself, and
// not only the truth, tells a null key and a mask that is a number.
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
