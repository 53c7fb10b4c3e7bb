// Tests of the comparator: what a sound one must pass and refuse, and broken ones that this test must expose. Real
// tests have compared NaN as equal to anything, or had tolerances that pass noise: assertpy/assertpy#155,
// Xilinx/mlir-air#1427, facebookresearch/multimodal#462.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "properties/tests/gating.hpp"
#include "reference/core/special_values.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

using comparator = std::function<bool(const expectation& e, const core::tensors& outputs)>;

using assay::core::infinity;
const double nan = std::numeric_limits<double>::quiet_NaN();
constexpr core::dtype types[] = {core::dtype::f64, core::dtype::f32, core::dtype::bf16};

bool by_judge(const expectation& e, const core::tensors& outputs) { return judge(e, outputs).passed; }

// Returns the comparator's mistakes for the values of one element; empty if it was right.
std::string faults_at(const comparator& compare, const expectation& e, core::tensors& outputs, const std::string& name,
                      std::size_t i) {
  double& x = outputs.at(name).values.storage()[i];
  const core::dtype storage = outputs.at(name).type;
  const double right = x, truth = e.truth.at(name).truth(i), k = all_laws(e)->at(name).k.back().storage()[i];
  std::string faults;
  const auto expect_answer = [&](double value, bool passes, const char* what) {
    x = value;
    if (compare(e, outputs) != passes) faults += fmt::format("{}{} {}; ", name, i, what);
    x = right;
  };
  expect_answer(right, true, "refused the truth");
  if (std::isnan(right)) {
    expect_answer(0.0, false, "passed a number for NaN");
  } else if (std::isinf(truth)) {
    expect_answer(-right, false, "passed an infinity of the other sign");
    expect_answer(std::copysign(1e30, right), false, "passed a number for an infinity");
    expect_answer(nan, false, "passed NaN for an infinity");
  } else {
    expect_answer(nan, false, "passed NaN");
    const double allowed = allowed_error(storage, e.compute, k, truth);
    // Near the largest number, it and infinity may both be right.
    if (core::is_floating(storage) && !(std::fabs(truth) + 4 * allowed < core::largest_finite(storage))) return faults;
    expect_answer(infinity, false, "passed infinity");
    const double ulp = core::is_floating(storage) ? 2 * core::half_ulp(storage, std::fabs(right) + allowed) : 1.0;
    // Among the smallest numbers a proof's own radius may span several of them.
    const double beyond = 1.1 * allowed + 2 * ulp + 2 * e.truth.at(name).radius.storage()[i];
    for (const double sign : {1.0, -1.0}) {
      expect_answer(core::round_to(storage, right + sign * beyond), false, "passed too large an error");
      if (allowed > 16 * ulp)
        expect_answer(core::round_to(storage, right + sign * 0.9 * allowed), true, "refused rounding");
    }
  }
  return faults;
}

using expectations = std::vector<std::shared_ptr<const expectation>>;

std::shared_ptr<const expectation> expected_of(const core::operation& op, core::dtype type, const family& f,
                                               std::uint64_t with_seed, std::size_t tokens) {
  const test_case c = make_case({&op, type, f.name, with_seed, {lengths::exactly, tokens}}, f);
  return expect(c.call, description().precisions_of(*c.call.operation, type));
}

// One small case of every family.
expectations small_cases(const core::operation& op, core::dtype type) {
  expectations all;
  for (const family& f : families_of(op)) all.push_back(expected_of(op, type, f, seed, 3));
  return all;
}

// Special values, plain inputs, and a long case.
expectations informative_cases(core::dtype type) {
  expectations all;
  for (const char* name : {"heinsen/scan", "heinsen/scan:vjp"}) {
    const core::operation& op = *reference::find_operation(name);
    for (const char* from : {"mild", "infinite_prefix", "infinite_inside", "large_h", "nan_inside"})
      if (const family* f = find_family(op, from); f != nullptr && (op.is_forward() || !f->holds_nan))
        for (std::uint64_t k = 0; k < 6; ++k) all.push_back(expected_of(op, type, *f, seed + k, 1 + 3 * k));
    all.push_back(expected_of(op, type, *find_family(op, "mild"), seed, 1500));
  }
  return all;
}

// Tests the first, the last and a middle element of each output; returns the faults of the first case that has any.
std::string faults_of(const comparator& compare, const expectations& all) {
  for (const auto& e : all) {
    core::tensors outputs = rounded_truth_of(*e);
    std::string faults;
    for (const auto& d : e->call.operation->outputs) {
      const std::size_t n = outputs.at(d.name).size();
      for (const std::size_t i : {std::size_t{0}, n / 2, n - 1})
        if (i < n) faults += faults_at(compare, *e, outputs, d.name, i);
    }
    if (!faults.empty()) return fmt::format("{}: {}", core::name_of(e->call.type), faults);
  }
  return "";
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
  bool shows_everywhere = false;  ///< on small cases of any operation
};

// Most of them change the outputs as a faulty comparison would see them, and ask the right comparator.
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
      {"compares the truth with itself", seen_as([](double, double truth, std::size_t) { return truth; }), true},
      {"NaN passes", seen_as([](double x, double truth, std::size_t) { return std::isnan(x) ? truth : x; }), true},
      {"infinities pass", seen_as([](double x, double truth, std::size_t) { return std::isinf(x) ? truth : x; })},
      {"special values are skipped",
       seen_as([](double x, double truth, std::size_t) { return std::isfinite(truth) ? x : truth; })},
      {"signs of infinities are ignored",
       seen_as([](double x, double truth, std::size_t) { return std::isinf(x) && std::isinf(truth) ? truth : x; })},
      {"one-sided", seen_as([](double x, double truth, std::size_t) { return x < truth ? truth : x; }), true},
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
         core::tensors seen = rounded_truth_of(e);
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
      {"passes all", [](const expectation&, const core::tensors&) { return true; }, true},
      {"refuses all", [](const expectation&, const core::tensors&) { return false; }, true},
  };
}

}  // namespace

TEST_CASE("properties/comparator/is_sound", "[property][gate]") {
  for (const core::dtype type : types) CHECK(faults_of(by_judge, informative_cases(type)) == "");
}

TEST_CASE("properties/comparator/is_sound_for_every_operation", "[property][gate]") {
  for (const core::operation& op : reference::operations())
    for (const core::dtype type : types) {
      INFO(op.name);
      const expectations all = small_cases(op, type);
      CHECK(faults_of(by_judge, all) == "");
      for (const broken& b : broken_comparators()) {
        INFO(b.name);
        if (b.shows_everywhere) CHECK(faults_of(b.compare, all) != "");
      }
    }
}

TEST_CASE("properties/comparator/broken_ones_are_exposed", "[property][gate]") {
  for (const core::dtype type : types) {
    const expectations all = informative_cases(type);
    for (const broken& b : broken_comparators()) {
      INFO(b.name << " in " << core::name_of(type));
      CHECK(faults_of(b.compare, all) != "");
    }
  }
}
