// Tests the choice of the instruction set and of the number of threads.
#include "optimized/dispatch.hpp"

#include <tbb/global_control.h>

#include <algorithm>
#include <atomic>

#include "optimized/tests/support.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::tests {

TEST_CASE("optimized/dispatch/every_supported_target_runs", "[optimized]") {
  const auto declared = declared_targets(), supported = supported_targets();
  REQUIRE(!supported.empty());
  CHECK(supported.front() == "baseline");
  std::vector<const kernel_table*> tables;
  for (const std::string_view name : declared) {
    const bool expected = std::find(supported.begin(), supported.end(), name) != supported.end();
    if (!expected) WARN("not tested, this processor lacks it: " << name);
    CHECK(force_target(name) == expected);
    if (expected) tables.push_back(&active_kernels());
  }
  std::sort(tables.begin(), tables.end());
  CHECK(std::unique(tables.begin(), tables.end()) == tables.end());
  REQUIRE(force_target(""));
}

TEST_CASE("optimized/dispatch/unknown_target_is_refused", "[optimized]") {
  REQUIRE(force_target("baseline"));
  CHECK_FALSE(force_target("no such instruction set"));
  CHECK(active_target().value() == "baseline");
  REQUIRE(force_target(""));
}

TEST_CASE("optimized/dispatch/environment", "[optimized]") {
  const char* wanted = std::getenv("ASSAY_TARGET");
  if (wanted == nullptr) {
    CHECK(active_target().value() == supported_targets().back());
  } else if (active_target().has_value()) {
    CHECK(active_target().value() == wanted);
  } else {
    CHECK(active_target().error().message.find(wanted) != std::string::npos);
    CHECK_THROWS_AS(active_kernels(), core::contract_violation);
  }
}

TEST_CASE("optimized/dispatch/tasks_run_once_each", "[optimized]") {
  for (const int count : {1, 2, 7}) {
    set_threads(count);
    std::vector<std::atomic<int>> calls(100);
    for_each_task(threads(), calls.size(), [&](std::size_t i) { ++calls[i]; });
    CHECK(std::all_of(calls.begin(), calls.end(), [](const auto& c) { return c == 1; }));
    for_each_task(threads(), 0, [](std::size_t) { FAIL("no task"); });
  }
  set_threads(0);
  CHECK(threads() >= 1);
  CHECK_THROWS_AS(set_threads(-1), core::contract_violation);
}

// Other code in the process may want more threads than a call, also while the call runs.
TEST_CASE("optimized/dispatch/the_threads_of_the_process_stay", "[optimized]") {
  constexpr auto parallelism = tbb::global_control::max_allowed_parallelism;
  const tbb::global_control control_of_another(parallelism, 5);
  for (const int wanted : {1, 2, 3}) {
    std::atomic<int> calls = 0, lowered = 0;
    for_each_task(wanted, 20, [&](std::size_t) {
      ++calls;
      if (tbb::global_control::active_value(parallelism) < 5) ++lowered;
    });
    CHECK(calls == 20);
    CHECK(lowered == 0);
  }
}

TEST_CASE("optimized/dispatch/kernels_by_name", "[optimized]") {
  const auto supported = supported_targets();
  for (std::size_t i = 0; i < supported.size(); ++i) {
    CHECK(supported_target(i) == supported[i]);
    REQUIRE(force_target(supported[i]));
    CHECK(find_kernels(supported[i]) == &active_kernels());
  }
  REQUIRE(force_target("baseline"));
  CHECK(find_kernels("best") == find_kernels(supported.back()));  // whatever the process has chosen
  REQUIRE(force_target(""));
  CHECK(supported_target(supported.size()) == nullptr);
  CHECK(find_kernels("no such instruction set") == nullptr);
}

}  // namespace assay::optimized::tests
