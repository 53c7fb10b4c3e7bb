// Mutants made by rule: at least 98 of 100 are caught, and the survivors are known by name.
#include <catch2/catch.hpp>
#include <chrono>

#include "properties/support/kill_table.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

TEST_CASE("properties/mutants/generated_are_caught", "[property][gate]") {
  trial_options o;
  o.seed = seed;
  o.cases = scaled(4);
  o.shrink_calls = 0;
  const pinned_classes pinned = classes_of(**make_builtin("control/odd_chunks"), core::dtype::f32, o);
  REQUIRE_FALSE(pinned.empty());
  std::size_t mutants = 0, caught = 0;
  std::string survivors;
  for (const encoding_tests& tests : all_encoding_tests()) {
    if (tests.generated == nullptr) continue;
    for (const variant& m : tests.generated()) {
      ++mutants;
      const auto t0 = std::chrono::steady_clock::now();
      if (first_capture(m, o, pinned))
        ++caught;
      else
        survivors += "\n  " + m.id;
      const double dt = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
      if (dt > 0.5) fmt::print("{} {:.1f}\n", m.id, dt);
    }
  }
  fmt::print("{} of {} generated mutants caught; survivors:{}\n", caught, mutants, survivors);
  CHECK(mutants >= 300);
  CHECK(static_cast<double>(caught) >= 0.98 * static_cast<double>(mutants));
}
