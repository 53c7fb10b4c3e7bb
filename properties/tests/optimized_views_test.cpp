// Optimized operations of all encodings must not depend on gaps between the elements and the rows of their arrays, nor
// on the number of threads. They leave the gaps unchanged (tensor_arrays.hpp checks it).
#include <catch2/catch.hpp>

#include "optimized/operations.hpp"
#include "properties/harness/case.hpp"
#include "properties/tests/effort.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

// Whether rows must have no gaps (encodings/heinsen.hpp); rows of 16-bit numbers may, because they are widened first.
bool needs_unit_rows(const std::string& operation, core::dtype type) {
  return (operation.starts_with("heinsen/scan:") || operation.starts_with("heinsen/gated_scan:")) &&
         (type == core::dtype::f32 || type == core::dtype::f64);
}

}  // namespace

TEST_CASE("properties/optimized/minds_no_gaps_and_threads", "[unit][optimized]") {
  const optimized::execution one{optimized::find_kernels("best"), 1};
  std::size_t compared = 0;
  for (const optimized::routine& r : optimized::routines()) {
    const core::operation& op = *reference::find_operation(r.name);
    for (const family& f : families_of(op))
      for (const core::dtype type : core::floating_dtypes)
        for (std::uint64_t seed = 0; r.takes(type) && seed < scaled(4); ++seed) {
          const test_case c = make_case({&op, type, f.name, seed});
          const core::attributes settings = core::completed(op, c.call.attributes);
          const auto outputs = [&](int threads, std::size_t step, std::size_t gap) {
            return r.evaluate({type, c.call.inputs, settings, {one.kernels, threads}, step, gap});
          };
          INFO(summary(c));
          const core::tensors expected = outputs(1, 1, 0);
          const auto agrees = [&](const core::tensors& found) {
            REQUIRE(found.size() == expected.size());
            for (const auto& [name, t] : found) {
              INFO(name);
              REQUIRE(core::identical(t, expected.at(name)));
            }
          };
          agrees(outputs(3, 1, 0));
          agrees(outputs(1, 1, 3));
          if (needs_unit_rows(r.name, type)) {
            if (sizes_of(c).at("d") > 1) CHECK_THROWS_AS(outputs(1, 2, 0), core::contract_violation);
          } else {
            agrees(outputs(2, 2, 5));
          }
          ++compared;
        }
  }
  CHECK(compared > 8 * optimized::routines().size());
}
