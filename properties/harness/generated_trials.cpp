#include "properties/harness/generated_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

// The largest difference of an output from another, in units of u of its scale; infinite for special values.
double difference_in_u(const core::tensor_declaration& output, const core::tensor& x, const core::tensor& y) {
  double largest = 0;
  const auto& right = y.values.storage();
  const std::vector<double> scales = core::error_scales(output, y.type, y.shape(), {right.data(), right.size()});
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = x.values.storage()[i], b = y.values.storage()[i];
    if (core::same_value(a, b)) continue;
    const double d = std::fabs(a - b) / (core::unit_roundoff(x.type) * scales[i]);
    largest = std::max(largest, std::isfinite(d) ? d : HUGE_VAL);
  }
  return largest;
}

/// A value for each output and family.
template <class T>
using by_cell = std::map<std::pair<std::string, std::string>, T>;

/// The cases of a family on which a mutant is compared with the right code.
using cases_of_family = std::vector<test_case> (*)(const core::operation& op, core::dtype type, const family& f,
                                                   const trial_options& options);

// The cases of the detectability map.
std::vector<test_case> cases_of_map(const core::operation& op, core::dtype type, const family& f,
                                    const trial_options& options) {
  std::vector<test_case> all;
  for (std::size_t k = 0; k < options.cases + (options.cases + 3) / 4; ++k)
    all.push_back(make_case(
        {&op, type, f.name, options.seed + k, {k < options.cases ? lengths::short_ones : lengths::around_blocks}}, f));
  return all;
}
// More and longer cases.
std::vector<test_case> wider_cases(const core::operation& op, core::dtype type, const family& f,
                                   const trial_options& options) {
  std::vector<test_case> all;
  for (std::size_t k = 0; k < 2 * options.cases; ++k)
    all.push_back(make_case(
        {&op, type, f.name, options.seed + k, {k % 2 == 0 ? lengths::short_ones : lengths::around_blocks}}, f));
  return all;
}

// The largest difference of a mutant's outputs, by output and family.
by_cell<double> differences(implementation& mutant, implementation& right, const core::operation& op, core::dtype type,
                            const trial_options& options, cases_of_family cases) {
  by_cell<double> largest;
  for (const family& f : families_of(op)) {
    if (f.holds_nan) continue;  // the map has no such families
    for (const test_case& c : cases(op, type, f, options)) {
      const call_result x = mutant.evaluate(c.call), y = right.evaluate(c.call);
      for (const auto& d : op.outputs) {
        double& cell = largest[{d.name, f.name}];
        cell = std::max(cell, x && y ? difference_in_u(d, x->at(d.name), y->at(d.name)) : HUGE_VAL);
      }
    }
  }
  return largest;
}

// The same on the cases of the map, or on wider cases if those of the map show no difference.
by_cell<double> differences(implementation& mutant, implementation& right, const core::operation& op, core::dtype type,
                            const trial_options& options) {
  auto found = differences(mutant, right, op, type, options, cases_of_map);
  if (std::any_of(found.begin(), found.end(), [](const auto& cell) { return cell.second != 0; })) return found;
  return differences(mutant, right, op, type, options, wider_cases);
}

// The smallest errors that are always caught: log2, in u of the scale. None where no bound is left.
class detectability_map {
 public:
  explicit detectability_map(const trial_options& options) : options_(options) {}
  const by_cell<std::optional<int>>& bounds_of(const core::operation& op, core::dtype type) {
    const auto [it, fresh] = known_.try_emplace(op.name);
    if (fresh)
      for (const detectable_error& e : detectable_errors(op, type, options_.seed, options_.cases))
        it->second[{e.output, e.family}] = e.log2_error;
    return it->second;
  }

 private:
  trial_options options_;
  std::map<std::string, by_cell<std::optional<int>>> known_;
};

survivor explain(const variant& m, implementation& right, core::dtype type, const trial_options& options,
                 detectability_map& map) {
  survivor s{m.id, survival::identical, "same outputs, bit by bit"};
  double most = 0;
  const auto mutant = m.make();
  for (const core::operation& op : reference::operations()) {
    if (!mutant->describe().offers(op.name, type)) continue;
    for (const auto& [cell, d] : differences(*mutant, right, op, type, options)) {
      if (d == 0) continue;
      const auto floor = map.bounds_of(op, type).find(cell);
      // A cell without a bound lets every finite error pass. The map is a sample: the cases that the checks drew may
      // let twice as much pass.
      const bool below = floor != map.bounds_of(op, type).end() &&
                         (floor->second ? d < std::ldexp(2.0, *floor->second) : std::isfinite(d));
      const bool worse = !below && s.why != survival::unexplained;
      s.why = below && s.why != survival::unexplained ? survival::below_the_map : survival::unexplained;
      if (worse || (d > most && below == (s.why == survival::below_the_map)))
        s.detail = fmt::format("{} of {} differs by up to {:.3g} u ({})", cell.first, op.name, d, cell.second);
      most = std::max(most, d);
    }
  }
  return s;
}

}  // namespace

const char* name_of(survival why) {
  switch (why) {
    case survival::identical:
      return "identical";
    case survival::below_the_map:
      return "below the detectability map";
    case survival::unexplained:
      return "unexplained";
  }
  return "unknown";
}

std::size_t generated_trials::count(survival why) const {
  return static_cast<std::size_t>(
      std::count_if(survivors.begin(), survivors.end(), [why](const survivor& s) { return s.why == why; }));
}

generated_trials try_generated_mutants(const encoding_tests& tests, const trial_options& options) {
  generated_trials all;
  all.encoding = tests.name;
  if (!tests.generated) return all;
  const core::dtype type = options.type.value_or(core::dtype::f32);
  trial_options without_shrinking = options;
  without_shrinking.shrink_calls = 0;
  detectability_map map(options);
  const auto right = tests.unmutated();
  const pinned_classes pinned = classes_of(*right, type, without_shrinking);
  for (const variant& m : tests.generated()) {
    ++all.mutants;
    auto found = first_capture(m, without_shrinking, pinned);
    std::optional<survivor> survived;
    if (!found) survived = explain(m, *right, type, options, map);
    if (survived && survived->why == survival::unexplained) {
      // A few cases miss faults that show only at few lengths, or in few settings.
      trial_options more = without_shrinking;
      more.cases *= 4;
      found = first_capture(m, more, pinned);
    }
    if (found) {
      ++all.caught;
      all.by_class += found->by_class;
      ++all.first_by[found->by->name];
    } else {
      all.survivors.push_back(std::move(*survived));
    }
  }
  return all;
}

}  // namespace assay::properties
