// Tests how the gate uses times, with the test's own clock: nothing here waits.
#include "tools/gate/call_times.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "reference/core/counter_random.hpp"
#include "reference/oracle.hpp"
#include "tools/gate/guarded_candidate.hpp"

using namespace assay;
using properties::fault;
using tools::guarded_candidate;

namespace {

constexpr double limit = 30;

properties::request scan_of(std::size_t rows, std::size_t tokens, std::size_t features) {
  const core::operation& op = *reference::find_operation("heinsen/scan");
  core::tensors inputs;
  for (const auto& d : op.inputs)
    inputs.emplace(d.name,
                   core::zeros(core::dtype::f32, core::shape_of(d, {{"B", rows}, {"n", tokens}, {"d", features}})));
  return {&op, core::dtype::f32, std::move(inputs)};
}

// Takes the time that a test gives, on the clock that the gate reads. A call that takes longer than the limit is ended.
class timed_candidate final : public properties::implementation {
 public:
  using seconds_of = std::function<double(double rows, double tokens, double features)>;
  explicit timed_candidate(seconds_of seconds) : seconds_(std::move(seconds)) {}
  [[nodiscard]] const properties::description& describe() const override { return about_; }
  properties::call_result evaluate(const properties::request& call) override {
    const core::axis_sizes sizes = core::check_request(call).value();
    const auto size = [&](const char* axis) { return static_cast<double>(sizes.at(axis)); };
    double seconds = seconds_(size("B"), size("n"), size("d"));
    if (++calls == pause_at) seconds += pause;
    now += std::min(seconds, limit);
    if (size("n") > memory_for)
      return tl::make_unexpected(properties::call_failure{fault::out_of_memory, "resident memory above the limit"});
    if (seconds > limit)
      return tl::make_unexpected(properties::call_failure{fault::timed_out, "no answer within 30 s"});
    return core::tensors{};
  }
  double now = 0, pause = 0, memory_for = 1e9;  // tokens
  std::size_t calls = 0, pause_at = 0;

 private:
  seconds_of seconds_;
  properties::description about_{};
};

// A gate that has made the calls of a run up to the usual sizes.
struct gate_after_short_calls {
  explicit gate_after_short_calls(timed_candidate::seconds_of seconds, std::size_t pause_at = 0, double pause = 0,
                                  double memory_for = 1e9)
      : timed(std::move(seconds)),
        guarded(
            timed, [] {}, limit, [this] { return timed.now; }) {
    timed.pause_at = pause_at;
    timed.pause = pause;
    timed.memory_for = memory_for;
    for (std::size_t k = 0; k < 200; ++k) guarded.evaluate(scan_of(1 + k % 3, 1 + k % 17, 1 + k % 5));
    for (std::size_t k = 0; k < 20; ++k) guarded.evaluate(scan_of(1 + k % 2, 31 + 16 * k, 1 + k % 4));
    for (const auto& [B, n, d] : {std::tuple(2u, 1000u, 2u),
                                  {1u, 1500u, 4u},
                                  {130u, 3u, 2u},
                                  {2u, 3u, 1030u},
                                  {1u, 4097u, 2u},
                                  {2u, 65537u, 3u}})
      guarded.evaluate(scan_of(B, n, d));
  }
  [[nodiscard]] std::vector<std::string> said() const {
    return guarded.too_slow(*reference::find_operation("heinsen/scan"), core::dtype::f32);
  }
  timed_candidate timed;
  guarded_candidate guarded;
};

const auto step_loop = [](double, double n, double) { return 1e-3 + 4e-5 * n; };

}  // namespace

TEST_CASE("assay/call_times/a_step_loop_is_not_tried_where_it_outlasts_the_limit") {
  gate_after_short_calls gate(step_loop);
  const auto calls = gate.timed.calls;
  CHECK(gate.guarded.would_outlast(scan_of(1, 1000003, 1)));  // 40 s
  CHECK(gate.guarded.would_outlast(scan_of(1, 2000003, 1)));
  CHECK_FALSE(gate.guarded.would_outlast(scan_of(1, 500000, 1)));   // 20 s
  CHECK_FALSE(gate.guarded.would_outlast(scan_of(8, 4097, 1024)));  // many elements, few steps
  CHECK_FALSE(gate.guarded.would_outlast(scan_of(65537, 3, 2)));
  CHECK(gate.timed.calls == calls);
  CHECK(gate.said() ==
        std::vector<std::string>{
            "heinsen/scan in f32 was not tried beyond n = 65537: a call takes about 40 us for each of n, and with n = "
            "1000003 it would outlast the 30 s that a call may take (--case-timeout gives it longer)"});
}

TEST_CASE("assay/call_times/a_slow_call_that_is_ended_is_no_hang") {
  // 36 s exceed the limit, but not clearly.
  gate_after_short_calls gate([](double, double n, double) { return 3.6e-5 * n; });
  const auto call = scan_of(1, 1000003, 1);
  CHECK_FALSE(gate.guarded.would_outlast(call));
  for (int k = 0; k < 4; ++k) {
    const auto outputs = gate.guarded.evaluate(call);
    REQUIRE_FALSE(outputs);
    CHECK(outputs.error().kind == fault::unsupported);
  }
  CHECK_FALSE(gate.guarded.run_is_over());
  REQUIRE(gate.said().size() == 1);
  CHECK(gate.said().front().find("beyond n = 65537") != std::string::npos);
}

TEST_CASE("assay/call_times/a_call_that_takes_far_longer_than_its_like_hangs") {
  gate_after_short_calls gate([](double, double n, double) { return n > 1e5 ? 1e9 : 1e-3 + 1e-8 * n; });
  const auto call = scan_of(1, 1000003, 1);
  CHECK_FALSE(gate.guarded.would_outlast(call));
  for (int k = 0; k < 3; ++k) {
    const auto outputs = gate.guarded.evaluate(call);
    REQUIRE_FALSE(outputs);
    CHECK(outputs.error().kind == fault::timed_out);
  }
  CHECK(gate.guarded.run_is_over());
  CHECK(gate.said().empty());
}

TEST_CASE("assay/call_times/what_is_far_larger_than_what_was_answered_may_meet_a_limit") {
  // 0.08 s at 4097 tokens: quadratic growth would give 20 s at 65537.
  gate_after_short_calls gate([](double, double n, double) { return n > 5000 ? 1e9 : 1e-3 + 2e-5 * n; });
  const auto calls = gate.timed.calls;
  CHECK(gate.guarded.would_outlast(scan_of(2, 65537, 3)));
  CHECK(gate.guarded.evaluate(scan_of(4, 1000003, 8)).error().kind == fault::unsupported);
  CHECK(gate.timed.calls == calls);
  CHECK(gate.guarded.evaluate(scan_of(2, 4097, 2)));
  CHECK(gate.guarded.evaluate(scan_of(65537, 3, 2)));
  CHECK_FALSE(gate.guarded.run_is_over());
  CHECK(gate.said() == std::vector<std::string>{
                           "heinsen/scan in f32 was not tried beyond n = 4097: at B = 2, d = 3, n = 65537 there was no "
                           "answer within 30 s (--case-timeout gives it longer)"});
}

TEST_CASE("assay/call_times/what_is_short_for_any_code_hangs") {
  gate_after_short_calls gate([](double, double n, double) { return n > 60 ? 1e9 : 1e-3 + 1e-2 * n; });
  CHECK(gate.guarded.run_is_over());
  CHECK(gate.said().empty());
}

TEST_CASE("assay/call_times/memory_is_a_limit_where_sizes_are_large_and_a_fault_where_they_are_small") {
  const auto fast = [](double, double, double) { return 1e-3; };
  gate_after_short_calls large(fast, 0, 0, 5000);
  CHECK_FALSE(large.guarded.part_is_over());
  CHECK(large.guarded.evaluate(scan_of(2, 70000, 3)).error().kind == fault::unsupported);
  CHECK(large.said() == std::vector<std::string>{
                            "heinsen/scan in f32 was not tried beyond n = 4097: at B = 2, d = 3, n = 65537 there was "
                            "resident memory above the limit (--memory-limit gives it more)"});
  gate_after_short_calls small(fast, 0, 0, 60);
  CHECK(small.guarded.part_is_over());
  CHECK(small.guarded.evaluate(scan_of(1, 1, 1)).error().kind == fault::out_of_memory);
  CHECK(small.said().empty());
  // A call that was answered before now runs out of memory: the program leaks.
  gate_after_short_calls leaks(fast);
  leaks.timed.memory_for = 1;
  CHECK(leaks.guarded.evaluate(scan_of(1, 1000, 2)).error().kind == fault::out_of_memory);
}

TEST_CASE("assay/call_times/a_shared_machine_makes_no_right_code_wrong") {
  // Every call takes 1 to 4 times as long as it would alone.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    core::counter_random random(seed);
    const auto shared = [&](double seconds) { return seconds * std::pow(4.0, random.uniform()); };
    gate_after_short_calls slow([&](double, double n, double) { return shared(1e-3 + 4e-5 * n); });
    const auto call = scan_of(1, 1000003, 1);
    if (!slow.guarded.would_outlast(call)) {
      const auto outputs = slow.guarded.evaluate(call);
      REQUIRE_FALSE(outputs);
      CHECK(outputs.error().kind == fault::unsupported);
    }
    CHECK(slow.said().size() == 1);
    gate_after_short_calls fast([&](double B, double n, double d) { return shared(1e-3 + 2e-9 * B * n * d); });
    CHECK_FALSE(fast.guarded.would_outlast(call));
    gate_after_short_calls hangs([&](double, double n, double) { return n > 1e5 ? 1e9 : shared(1e-3 + 2e-8 * n); });
    CHECK_FALSE(hangs.guarded.would_outlast(call));
    CHECK(hangs.guarded.evaluate(call).error().kind == fault::timed_out);
  }
}

TEST_CASE("assay/call_times/one_pause_of_the_machine_makes_nothing_slow") {
  const auto fast = [](double B, double n, double d) { return 1e-3 + 2e-9 * B * n * d; };
  // The pause occurs in every call of the run once: in the first, in a short one, in the longest.
  for (std::size_t pause_at = 1; pause_at <= 226; ++pause_at)
    for (const double pause : {0.1, 5.0, 29.0}) {
      gate_after_short_calls gate(fast, pause_at, pause);
      REQUIRE(gate.timed.calls == 226);
      CHECK_FALSE(gate.guarded.would_outlast(scan_of(1, 1000003, 1)));
      CHECK_FALSE(gate.guarded.would_outlast(scan_of(65537, 3, 2)));
    }
}

TEST_CASE("assay/call_times/work_that_grows_with_all_elements_is_seen_along_the_axis_that_grows") {
  gate_after_short_calls gate([](double B, double n, double d) { return 1e-3 + 2e-5 * B * n * d; });  // 7.9 s at most
  CHECK(gate.guarded.would_outlast(scan_of(65537, 16, 2)));                                           // 42 s
  CHECK_FALSE(gate.guarded.would_outlast(scan_of(65537, 3, 2)));
  REQUIRE(gate.said().size() == 1);
  INFO(gate.said().front());
  CHECK(gate.said().front().find(
            "beyond B = 130: a call takes about 640 us for each of B, and with B = 65537 it would outlast") !=
        std::string::npos);
}

TEST_CASE("assay/call_times/without_a_limit_or_without_calls_nothing_is_expected") {
  tools::call_times none(std::numeric_limits<double>::infinity());
  for (std::size_t n = 1; n < 100; ++n) none.note(scan_of(1, n, 1), static_cast<double>(n));
  CHECK_FALSE(none.expected(scan_of(1, 1000003, 1)));
  CHECK_FALSE(tools::call_times(limit).expected(scan_of(1, 1000003, 1)));
}
