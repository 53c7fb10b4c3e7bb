// The comparator gated: what a sound one must pass and refuse, and broken ones that this must expose. Tests
// that compare NaN with anything as equal, or with tolerances that pass noise, happened: assertpy/assertpy#155,
// Xilinx/mlir-air#1427, facebookresearch/multimodal#462.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

using comparator = std::function<bool(const expectation& e, const core::tensors& outputs)>;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

bool by_judge(const expectation& e, const core::tensors& outputs) { return judge(e, outputs).passed; }

core::tensors truth_of(const expectation& e) {
  core::tensors truth;
  for (const auto& [name, c] : e.truth) truth.emplace(name, c.rounded);
  return truth;
}

// What the comparator said wrongly of one element's values; empty where it was right.
std::string faults_at(const comparator& compare, const expectation& e, core::tensors& outputs, const std::string& name,
                      std::size_t i) {
  double& x = outputs.at(name).values.storage()[i];
  const double right = x, k = e.allowed->at(name).k.back().storage()[i];
  std::string faults;
  const auto expect_answer = [&](double value, bool passes, const char* what) {
    x = value;
    if (compare(e, outputs) != passes) faults += fmt::format("{}{} {}; ", name, i, what);
    x = right;
  };
  expect_answer(right, true, "refused the truth");
  if (std::isnan(right)) {
    expect_answer(0.0, false, "passed a number for NaN");
  } else if (std::isinf(right)) {
    expect_answer(-right, false, "passed an infinity of the other sign");
    expect_answer(std::copysign(1e30, right), false, "passed a number for an infinity");
    expect_answer(nan, false, "passed NaN for an infinity");
  } else {
    expect_answer(nan, false, "passed NaN");
    if (std::isinf(k)) return faults;
    expect_answer(infinity, false, "passed infinity");
    const double allowed = allowed_error(e.call.type, e.compute, k, right);
    const double ulp = 2 * core::half_ulp(e.call.type, std::fabs(right) + allowed);
    for (const double sign : {1.0, -1.0}) {
      expect_answer(core::round_to(e.call.type, right + sign * (1.1 * allowed + 2 * ulp)), false,
                    "passed too large an error");
      if (allowed > 16 * ulp)
        expect_answer(core::round_to(e.call.type, right + sign * 0.9 * allowed), true, "refused rounding");
    }
  }
  return faults;
}

// The first, the last and a middle element of each output, over special values, plain inputs, and a long case.
std::string faults_of(const comparator& compare) {
  std::string faults;
  const auto probe = [&](const core::operation& op, const std::string& from, extent size, std::uint64_t with_seed) {
    for (const family& f : families_of(op)) {
      if (f.name != from) continue;
      const test_case c = make_case({&op, core::dtype::f32, f.name, with_seed, size}, f);
      const auto e = expect(c.call, core::dtype::f32);
      core::tensors outputs = truth_of(*e);
      for (const auto& d : op.outputs) {
        const std::size_t n = outputs.at(d.name).size();
        for (const std::size_t i : {std::size_t{0}, n / 2, n - 1})
          if (i < n) faults += faults_at(compare, *e, outputs, d.name, i);
      }
    }
  };
  for (const char* name : {"heinsen/scan", "heinsen/scan:vjp"}) {
    const core::operation& op = *reference::find_operation(name);
    for (std::uint64_t k = 0; k < 6; ++k)
      for (const char* from : {"mild", "infinite_prefix", "infinite_inside", "large_h", "nan_inside"})
        probe(op, from, {lengths::exactly, 1 + 3 * k}, seed + k);
    probe(op, "mild", {lengths::exactly, 1500}, seed);
  }
  return faults;
}

core::tensors mapped(core::tensors outputs, const expectation& e,
                     const std::function<double(double x, double truth, std::size_t i)>& f) {
  for (auto& [name, t] : outputs)
    for (std::size_t i = 0; i < t.size(); ++i)
      t.values.storage()[i] = f(t.values.storage()[i], e.truth.at(name).rounded.values.storage()[i], i);
  return outputs;
}

struct broken {
  const char* name;
  comparator compare;
};

// Each sees the outputs as some faulty comparison would, and asks the right one.
std::vector<broken> broken_comparators() {
  const auto seen_as = [](double (*f)(double, double, std::size_t)) -> comparator {
    return [f](const expectation& e, const core::tensors& outputs) { return by_judge(e, mapped(outputs, e, f)); };
  };
  const auto tolerance = [](double absolute, double relative) -> comparator {
    return [=](const expectation& e, const core::tensors& outputs) {
      bool passed = true;
      mapped(outputs, e, [&](double x, double truth, std::size_t) {
        passed = passed && !(std::fabs(x - truth) > absolute + relative * std::fabs(truth));
        return x;
      });
      return passed;
    };
  };
  return {
      {"compares the truth with itself", seen_as([](double, double truth, std::size_t) { return truth; })},
      {"NaN passes", seen_as([](double x, double truth, std::size_t) { return std::isnan(x) ? truth : x; })},
      {"infinities pass", seen_as([](double x, double truth, std::size_t) { return std::isinf(x) ? truth : x; })},
      {"special values are skipped",
       seen_as([](double x, double truth, std::size_t) { return std::isfinite(truth) ? x : truth; })},
      {"signs of infinities are ignored",
       seen_as([](double x, double truth, std::size_t) { return std::isinf(x) && std::isinf(truth) ? truth : x; })},
      {"one-sided", seen_as([](double x, double truth, std::size_t) { return x < truth ? truth : x; })},
      {"the first 64 elements only", seen_as([](double x, double truth, std::size_t i) { return i < 64 ? x : truth; })},
      {"the last element is left out",
       [](const expectation& e, const core::tensors& outputs) {
         core::tensors seen = outputs;
         for (auto& [name, t] : seen)
           if (t.size() > 0) t.values.storage()[t.size() - 1] = e.truth.at(name).rounded.values.storage()[t.size() - 1];
         return by_judge(e, seen);
       }},
      {"one output only",
       [](const expectation& e, const core::tensors& outputs) {
         core::tensors seen = truth_of(e);
         seen.begin()->second = outputs.begin()->second;
         return by_judge(e, seen);
       }},
      {"the bound grows with the index",
       [](const expectation& e, const core::tensors& outputs) {
         const value_report r = judge(e, outputs);
         return r.passed || r.worst.error <= r.worst.allowed * (1.0 + static_cast<double>(r.worst.index) / 64);
       }},
      {"twice the bound",
       [](const expectation& e, const core::tensors& outputs) {
         const value_report r = judge(e, outputs);
         return r.passed || r.worst.error <= 2 * r.worst.allowed;
       }},
      {"half the bound",
       [](const expectation& e, const core::tensors& outputs) {
         const value_report r = judge(e, outputs);
         return r.passed && r.worst.ratio <= bug_slack / 2;
       }},
      {"a fixed tolerance of 1e-3", tolerance(1e-3, 1e-3)},
      {"a fixed tolerance of 1e-7", tolerance(1e-7, 1e-7)},
      {"passes all", [](const expectation&, const core::tensors&) { return true; }},
      {"refuses all", [](const expectation&, const core::tensors&) { return false; }},
  };
}

}  // namespace

TEST_CASE("properties/comparator/is_sound", "[property][gate]") { CHECK(faults_of(by_judge) == ""); }

TEST_CASE("properties/comparator/broken_ones_are_exposed", "[property][gate]") {
  for (const broken& b : broken_comparators()) {
    INFO(b.name);
    CHECK(faults_of(b.compare) != "");
  }
}
