#include "properties/diagnosis/probes.hpp"

#include <algorithm>
#include <cmath>

#include "properties/harness/verdict.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

// Every small length, and those around the sizes of blocks.
constexpr std::size_t lengths_tried[] = {0,  1,  2,  3,   4,   5,   6,   7,   8,   9,   10,  12,
                                         15, 16, 17, 20,  31,  32,  33,  40,  63,  64,  65,  66,
                                         70, 80, 96, 100, 127, 128, 129, 144, 200, 257, 260, 300};
constexpr std::size_t cases_of_family = 3;
// What is computed for a length: pairs of tokens are many.
constexpr std::size_t most_elements = 20000;

// Two cases of one batch row each as one of two; what has no batch axis is the first one's.
core::tensors join_rows(const core::operation& op, const core::tensors& first, const core::tensors& second) {
  core::tensors joined;
  for (const auto& d : op.inputs) {
    const core::tensor& t = first.at(d.name);
    if (core::axis_of(d, "B") != 0u) {
      joined.emplace(d.name, t);
      continue;
    }
    core::shape shape = t.shape();
    const auto &upper = t.values.storage(), &lower = second.at(d.name).values.storage();
    std::vector<double> values(upper.begin(), upper.end());
    values.insert(values.end(), lower.begin(), lower.end());
    shape[0] *= 2;
    joined.emplace(d.name, core::make_tensor(t.type, shape, values));
  }
  return joined;
}

// Both rows of the same sizes: the module's number of features is drawn.
std::optional<test_case> length_case(const core::operation& op, core::dtype type, const family& mild,
                                     std::uint64_t seed, std::size_t tokens, const setting_values& within) {
  test_case c = make_case({&op, type, mild.name, seed, {lengths::exactly, tokens}, within}, mild);
  for (std::uint64_t k = 1; k < 64; ++k) {
    const test_case other =
        make_case({&op, type, mild.name, seed + k * 0x9e3779b97f4a7c15u, {lengths::exactly, tokens}, within}, mild);
    if (sizes_of(other) != sizes_of(c)) continue;
    c.call.inputs = join_rows(op, c.call.inputs, other.call.inputs);
    return c;
  }
  return std::nullopt;
}

bool is_too_large(const test_case& c) {
  const core::axis_sizes sizes = sizes_of(c);
  std::size_t elements = 0;
  for (const auto* declared : {&c.call.operation->inputs, &c.call.operation->outputs})
    for (const auto& d : *declared) elements += core::element_count(core::shape_of(d, sizes));
  return elements > most_elements;
}

void measure(probe& p, core::dtype compute) {
  const core::operation& op = *p.c.call.operation;
  core::tensors exact;
  for (const auto& d : op.inputs) {
    const core::tensor& t = p.c.call.inputs.at(d.name);
    exact.emplace(d.name, d.own_type ? t : core::cast(core::dtype::f64, t));
  }
  p.truth =
      reference::evaluate({&op, core::dtype::f64, exact, p.c.call.attributes}, reference::accuracy_class::sequential);
  const double u = core::unit_roundoff(compute);
  for (const auto& [name, allowed] : *allowances_of(p.c.call, compute)) {
    const auto& widest = allowed.k.back().storage();
    auto& tolerance = p.tolerance[name];
    const auto& truth = p.truth.at(name).values.storage();
    for (std::size_t i = 0; i < widest.size(); ++i)
      tolerance.push_back(2.0 * bug_slack * u * widest[i] + 16.0 * u * std::max(1.0, std::fabs(truth[i])));
  }
}

bool element_matches(const probe& p, const std::string& name, std::size_t i, double predicted, double x) {
  const core::dtype storage = p.c.call.operation->output(name)->type_in(p.c.call.type);
  if (core::same_value(core::round_to(storage, predicted), x)) return true;
  if (!std::isfinite(predicted) || !std::isfinite(x)) return false;
  const double relative = 64.0 * core::unit_roundoff(p.c.call.type) * std::max(1.0, std::fabs(predicted));
  const double tolerance = p.tolerance.at(name)[i];
  return std::isnan(tolerance) || std::fabs(x - predicted) <= tolerance + relative;
}

void compare_with_truth(probe& p) {
  for (const auto& [name, t] : p.actual)
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double truth = p.truth.at(name).values.storage()[i], x = t.values.storage()[i];
      if (element_matches(p, name, i, truth, x)) continue;
      p.wrong_outputs.insert(name);
      p.not_a_number = p.not_a_number || (std::isnan(x) && !std::isnan(truth));
      p.infinite = p.infinite || (std::isinf(x) && std::isfinite(truth));
    }
  p.right = p.wrong_outputs.empty();
}

}  // namespace

bool matches(const probe& p, const core::tensors& predicted, const core::tensors& x) {
  for (const auto& [name, t] : x)
    for (std::size_t i = 0; i < t.size(); ++i)
      if (!element_matches(p, name, i, predicted.at(name).values.storage()[i], t.values.storage()[i])) return false;
  return true;
}

std::vector<probe> run_probes(implementation& under_test, const core::operation& op, core::dtype type,
                              const test_case* counterexample, std::uint64_t seed) {
  std::vector<probe> planned, answered;
  const setting_values& within = under_test.describe().settings_of(op);
  if (counterexample != nullptr) planned.push_back({*counterexample, probe_kind::counterexample});
  for (const family& f : families_of(op)) {
    if (f.name == "mild")
      for (const std::size_t n : lengths_tried)
        if (auto c = length_case(op, type, f, seed + n, n, within); c && !is_too_large(*c))
          planned.push_back({std::move(*c), probe_kind::length});
    for (std::size_t k = 0; k < cases_of_family; ++k)
      planned.push_back(
          {make_case({&op, type, f.name, seed + 1000 + k, {lengths::short_ones}, within}, f), probe_kind::family});
  }
  for (probe& p : planned) {
    if (!within_domain(under_test.describe(), p.c)) continue;
    call_result outputs = under_test.evaluate(p.c.call);
    if (!outputs && outputs.error().kind == fault::unsupported) continue;
    if (!outputs) break;
    p.actual = std::move(*outputs);
    const core::axis_sizes sizes = sizes_of(p.c);
    if (const auto n = sizes.find("n"); n != sizes.end()) p.tokens = n->second;
    measure(p, under_test.describe().compute_dtype(type));
    compare_with_truth(p);
    answered.push_back(std::move(p));
  }
  return answered;
}

}  // namespace assay::properties
