// A quick run counts more tokens than 16 bits hold: it sees ids of positions that wrap there.
#include <catch2/catch.hpp>
#include <numeric>

#include "properties/harness/verdict.hpp"
#include "properties/tests/gating.hpp"
#include "reference/evaluate_in.hpp"

using namespace assay;
using namespace assay::properties;

TEST_CASE("learned/positions/a_quick_run_sees_counts_that_wrap_in_16_bits", "[unit]") {
  const core::operation& op = *reference::find_operation("learned/positions");
  double most_tokens = 0;
  for (const usual_size& u : encoding_tests_of(op)->sizes) {
    if (!u.always || u.family != "no_padding" || u.functions.front() != op.name) continue;
    const test_case c = make_case({&op, core::dtype::f32, u.family, testing::seed, extent(u.axes)});
    const auto& mask = c.call.inputs.at("mask").values.storage();
    most_tokens = std::max(most_tokens, std::accumulate(mask.begin(), mask.end(), 0.0));
    const core::tensors right = reference::evaluate_in(c.call, core::dtype::f32);
    CHECK(judge(c.call, core::dtype::f32, right).passed);
    for (const double range : {32768.0, 65536.0}) {
      core::tensors wrapped = right;
      for (double& id : wrapped.at("position").values.storage())
        if (id >= range) id -= range;
      CHECK_FALSE(judge(c.call, core::dtype::f32, wrapped).passed);
    }
  }
  CHECK(most_tokens > 65536);
}
