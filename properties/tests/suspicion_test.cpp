// Errors that roundings do not make are suspicious; errors of right code are not.
#include "properties/harness/suspicion.hpp"

#include <catch2/catch.hpp>

#include "properties/harness/blindness.hpp"
#include "properties/tests/changed.hpp"
#include "properties/tests/gating.hpp"
#include "reference/error_bound.hpp"
#include "reference/evaluate_in.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;
using core::dtype;
using reference::accuracy_class;

namespace {

struct judged_call {
  request call;
  core::precisions compute;
  usual_errors errors{call, compute};
};
judged_call usual(const case_key& key) {
  return {make_case(key).call, description{}.precisions_of(*key.operation, key.type)};
}
judged_call usual(const std::string& operation, dtype type = dtype::f32) {
  return usual(usual_key(*reference::find_operation(operation), type, 1));
}

core::tensors rounded_truth(const request& call, const core::precisions& compute) {
  core::tensors all;
  for (const auto& [name, c] : expect(call, compute)->truth) all.emplace(name, c.rounded);
  return all;
}
core::tensors rounded_truth(const judged_call& a) { return rounded_truth(a.call, a.compute); }

std::optional<suspicion> seen(const judged_call& a, const core::tensors& outputs) {
  REQUIRE(judge(a.call, a.compute, outputs).passed);
  return a.errors.suspicion_of(outputs);
}

// Every element is off by a share of its worst-case allowance, to one side or to either.
core::tensors off_by(const judged_call& a, double share, bool one_side) {
  const auto e = expect(a.call, a.compute);
  core::tensors outputs = rounded_truth(a);
  for (auto& [name, t] : outputs)
    for (std::size_t i = 0; i < t.size(); ++i) {
      double& x = t.values.storage()[i];
      const double k = e->first_laws->at(name).k[1].storage()[i];
      const double side = one_side || i % 2 == 0 ? 1.0 : -1.0;
      x = core::round_to(t.type, x + side * share * reference::allowed_by(a.compute.unit(), k, x));
    }
  return outputs;
}

constexpr const char* many_roundings[] = {"fox/decay:vjp", "kerple/log:vjp", "alibi/bias:vjp", "tener/scores:vjp"};

}  // namespace

TEST_CASE("properties/suspicion/plain_arithmetic_is_not_suspicious", "[property]") {
  for (const char* operation : many_roundings)
    for (const dtype type : {dtype::f32, dtype::bf16}) {
      INFO(operation << " " << core::name_of(type));
      const judged_call a = usual(operation, type);
      CHECK_FALSE(seen(a, reference::evaluate_in(a.call, a.compute)));
      CHECK_FALSE(seen(a, rounded_truth(a)));
    }
}

TEST_CASE("properties/suspicion/a_tenth_of_every_allowance_is_suspicious", "[property]") {
  for (const char* operation : many_roundings) {
    INFO(operation);
    const judged_call a = usual(operation);
    for (const bool one_side : {true, false}) {
      const auto found = seen(a, off_by(a, 0.1, one_side));
      REQUIRE(found);
      CHECK(found->times > 1.0);
      CHECK(found->error <= found->allowed);
      CHECK(found->deviation < found->error);
    }
  }
}

// Roundings may make each single error, but not all of them together.
TEST_CASE("properties/suspicion/errors_on_one_side_are_seen_together", "[property]") {
  const judged_call a = usual("tener/scores:vjp");
  const auto e = expect(a.call, a.compute);
  const auto scattered = reference::scatter_of(a.call, a.compute, accuracy_class::sequential, e->truth, scatter_runs);
  const std::vector<double> deviations = scattered.at("grad_v").deviations();
  const auto off = [&](double times, bool one_side) {
    core::tensors outputs = rounded_truth(a);
    auto& x = outputs.at("grad_v").values.storage();
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = core::round_to(dtype::f32, x[i] + (one_side || i % 2 == 0 ? times : -times) * deviations[i]);
    return outputs;
  };
  const auto on_one_side = seen(a, off(1.5, true));
  REQUIRE(on_one_side);
  CHECK(on_one_side->seen == suspicion::sign::direction);
  CHECK(in_words(*on_one_side).find("have mostly one sign") != std::string::npos);
  CHECK_FALSE(seen(a, off(1.5, false)));
  const auto too_large = seen(a, off(6.0, false));
  REQUIRE(too_large);
  CHECK(too_large->seen == suspicion::sign::size);
}

// Faults of gradients that small sizes do not show.
TEST_CASE("properties/suspicion/faults_of_long_gradients_fail", "[property]") {
  for (const std::size_t n : {256, 1024}) {
    const core::operation& op = *reference::find_operation("fox/decay:vjp");
    case_key key = usual_key(op, dtype::f32, 2);
    key.size.axes["n"] = n, key.size.axes["h"] = 1;
    const judged_call a = usual(key);
    const auto is_caught = [&](const core::tensors& outputs) {
      return !judge(a.call, a.compute, outputs).passed || a.errors.suspicion_of(outputs).has_value();
    };
    const auto gradient_without_cotangents = [&](auto is_lost) {
      request changed = a.call;
      for (auto& [name, t] : changed.inputs)
        if (name.starts_with("grad_"))
          for (std::size_t i = 0; i < t.size(); ++i)
            if (is_lost(i / n % n)) t.values.storage()[i] = 0.0;
      return rounded_truth(changed, a.compute);
    };
    INFO(n);
    CHECK_FALSE(is_caught(rounded_truth(a)));
    CHECK_FALSE(is_caught(reference::evaluate_in(a.call, a.compute)));
    CHECK(is_caught(gradient_without_cotangents([&](std::size_t row) { return row == n / 2; })));  // one row is dropped
    CHECK(is_caught(gradient_without_cotangents(
        [&](std::size_t row) { return row / 64 == (n - 1) / 64; })));  // the last block is detached
    core::tensors late = rounded_truth(a);                             // a suffix sum that starts one late
    auto& x = late.at("grad_log_f").values.storage();
    std::rotate(x.begin(), x.begin() + 1, x.end());
    CHECK(is_caught(late));
    CHECK(is_caught(reference::evaluate_in(a.call, dtype::bf16)));  // a narrow accumulator
  }
}

TEST_CASE("properties/suspicion/a_run_asks_it_of_a_usual_size", "[property]") {
  const core::operation& op = *reference::find_operation("tener/scores:vjp");
  run_options o = testing::options(2);
  o.sizes = run_options::usual::some;
  o.families = {mild_family_of(op).name};
  const auto found = [&](implementation& candidate) {
    return run_property(*find_property("vjp"), candidate, op, dtype::f32, o);
  };
  testing::changed one_sided([](const request& call, core::tensors& outputs) {
    const auto e = expect(call, dtype::f32);
    for (auto& [name, t] : outputs)
      for (std::size_t i = 0; i < t.size(); ++i)
        t.values.storage()[i] += 0.1 * core::unit_roundoff(dtype::f32) * e->first_laws->at(name).k[1].storage()[i];
  });
  const check_result wrong = found(one_sided);
  CHECK(wrong.verdict() == status::passed);
  REQUIRE(wrong.suspicious);
  CHECK(wrong.suspicious_case.starts_with("tener/scores:vjp f32"));
  testing::changed right([](const request&, core::tensors&) {});
  CHECK_FALSE(found(right).suspicious);
}
