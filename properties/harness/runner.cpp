#include "properties/harness/runner.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "properties/harness/case_generator.hpp"
#include "properties/harness/certified_implementation.hpp"
#include "properties/harness/expectation.hpp"
#include "properties/harness/sizes.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {

namespace {

// If each call costs a whole time limit, a smaller case is not worth the wait.
bool worth_shrinking(const outcome& o) {
  if (!o.failure) return true;
  const fault kind = o.failure->kind;
  return kind != fault::timed_out && kind != fault::silent_hello && kind != fault::out_of_memory;
}

// The ratio of the error to its allowance, if it is known.
double ratio_to_allowance(const outcome& o) { return o.value ? o.value->worst.ratio : 0.0; }

enum class value_kind { finite, infinite, nan };
value_kind kind_of_value(double x) {
  return std::isnan(x) ? value_kind::nan : std::isinf(x) ? value_kind::infinite : value_kind::finite;
}

// Whether a smaller case fails as the larger one does: with the same kind of failure, in the same output, with the same
// kinds of value. Otherwise a different failure would be shown.
bool fails_alike(const outcome& smaller, const outcome& larger) {
  if (smaller.verdict != status::failed || smaller.failure.has_value() != larger.failure.has_value()) return false;
  if (smaller.failure) return smaller.failure->kind == larger.failure->kind;
  if (smaller.value.has_value() != larger.value.has_value()) return false;
  if (!smaller.value) return true;
  const element_report &x = smaller.value->worst, &y = larger.value->worst;
  return x.output == y.output && kind_of_value(x.expected) == kind_of_value(y.expected) &&
         kind_of_value(x.actual) == kind_of_value(y.actual);
}

// RapidCheck walks the cases. A case counts only if the failure is the same and the reference passes.
counterexample shrink(const property& p, implementation& under_test, const test_case& failed, outcome shown,
                      const run_options& options) {
  counterexample found{failed, failed, std::move(shown)};
  certified_implementation reference(certified_implementation::precisions::first);
  found.reference_passes = p.check(reference, failed).verdict != status::failed;
  if (!worth_shrinking(found.shown)) return found;
  // A counterexample that fails only just explains nothing: a blatant failure must stay blatant.
  const double at_least = ratio_to_allowance(found.shown) / 16;
  std::size_t budget = options.shrink_calls;
  const auto deadline = std::chrono::steady_clock::now() + options.shrink_time;
  const auto still_fails = [&](const test_case& c) {
    if (budget == 0 || options.stopped() || std::chrono::steady_clock::now() > deadline) return false;
    --budget;
    outcome o = p.check(under_test, c);
    if (options.stopped()) return false;  // the case may have failed because nothing was asked any more
    if (!fails_alike(o, found.shown) || ratio_to_allowance(o) < at_least) return false;
    if (found.reference_passes && p.check(reference, c).verdict == status::failed) return false;
    found.shown = std::move(o);
    return true;
  };
  found.minimal =
      smallest_failing(shrinkable_case(failed, stays_in_domain(failed, under_test.describe())), still_fails);
  return found;
}

// Whether the rows of a case are narrower than usual heads although the implementation takes wider rows. Digits along
// integer positions are not reported from such rows (plan.cpp: far_rows).
bool has_narrow_rows(const test_case& c) {
  constexpr std::size_t usual_head = 64;  // the smallest one in common use
  const core::operation& op = *c.call.operation;
  const std::string width = core::axis_with(op, core::axis_role::width);
  if (core::integer_positions(op) == nullptr || width.empty()) return false;
  std::size_t widest = usual_head;
  if (const auto declared = c.key.sizes.find(width); declared != c.key.sizes.end())
    widest = declared->second.nearest(usual_head);
  for (const core::attribute_declaration& a : op.attributes)
    if (const auto within = c.key.settings.find(a.name);
        a.axis == width && !c.key.size.axes.contains(width) && within != c.key.settings.end())
      widest = static_cast<std::size_t>(
          std::get<std::int64_t>(*std::max_element(within->second.begin(), within->second.end())));
  return sizes_of(c).at(width) < std::min(usual_head, widest);
}

// Whether the rows of a case are narrow and hold means, although the implementation takes wider rows. Such a row may
// cancel, and then does not show how large rows are.
bool averages_few_numbers(const test_case& c) {
  const core::operation& op = *c.call.operation;
  const core::axis_sizes sizes = sizes_of(c);
  return core::integer_positions(op) == nullptr &&
         std::any_of(op.outputs.begin(), op.outputs.end(), [&](const core::tensor_declaration& d) {
           const auto row = row_axis_of(op, d);
           if (!row || sizes.at(*row) >= wide_row) return false;
           const auto declared = c.key.sizes.find(*row);
           return declared == c.key.sizes.end() || declared->second.nearest(wide_row) > sizes.at(*row);
         });
}

// Adds the errors of a judged case to `error_to_allowance` and `by_growth`.
void record_errors(check_result& r, const value_report& value, const test_case& c) {
  double& family = r.error_to_allowance[c.family];
  family = std::max(family, value.worst.ratio / bug_slack);
  const std::optional<core::error_growth>& grows = c.call.operation->grows_with;
  if (!grows) return;
  constexpr double largest_key = 0x1p63;
  const double reach = grows->value(*c.call.operation, c.call.inputs, sizes_of(c));
  error_there& here = r.by_growth[std::bit_floor(static_cast<std::uint64_t>(std::clamp(reach, 1.0, largest_key)))];
  ++here.cases;
  here.farthest = std::max(here.farthest, reach);
  if ((!grows->of_mild_inputs || is_mild(c)) && !averages_few_numbers(c)) {
    if (!has_narrow_rows(c)) here.digits_farthest = std::max(here.digits_farthest, reach);
    // A wrong case keeps no digit: if it is not a number, its error in ulp says nothing.
    here.digits_ulp =
        std::max(here.digits_ulp, value.passed ? value.largest_ulp : std::numeric_limits<double>::infinity());
  }
  here.failed = here.failed || !value.passed;
  for (std::size_t k = 0; k < here.ratios.size(); ++k) here.ratios[k] = std::max(here.ratios[k], value.ratios[k]);
  if (value.largest_ulp <= here.largest_ulp) return;
  here.largest_ulp = value.largest_ulp;
  here.law_ulp = value.law_ulp;
}

void record_value(check_result& r, const value_report& value, const test_case& c) {
  widen_class(r, c, value);
  r.largest_ulp = std::max(r.largest_ulp, value.largest_ulp);
  if (const auto needed = value.accuracy_class()) ++r.needed_by[static_cast<std::size_t>(*needed)];
  if (r.worst.output.empty() || value.worst.ratio > r.worst.ratio) {
    r.worst = value.worst;
    r.worst_case = summary(c);
  }
}

void record_judged(check_result& r, const value_report& value, const test_case& c) {
  record_errors(r, value, c);
  if (value.informative)
    for (const auto& [symbol, size] : sizes_of(c)) r.largest_sizes[symbol] = std::max(r.largest_sizes[symbol], size);
  if (value.passed) record_value(r, value, c);
}

// Records why cases were declined; only the first reasons are kept.
void record_declined(check_result& r, const std::string& reason) {
  constexpr std::size_t most = 8;
  const auto alike = std::find_if(r.declined.begin(), r.declined.end(), [&](const declined_cases& before) {
    return without_digits(before.reason) == without_digits(reason);
  });
  if (alike != r.declined.end())
    ++alike->cases;
  else if (r.declined.size() < most)
    r.declined.push_back({reason, 1});
}

// Checks one case. True if the run ends with it: the case failed, and the run does not go on despite failures.
bool run_case(check_result& r, implementation& under_test, const test_case& c, const run_options& options) {
  outcome o = r.checked->check(under_test, c);
  record_case(r, c, o);
  if (o.verdict != status::failed || options.goes_on) return false;
  r.found = shrink(*r.checked, under_test, c, std::move(o), options);
  if (!r.found->reference_passes)
    r.found->shown.message += " (the reference fails here, too: this is a fault of Assay)";
  if (r.found->shown.value) r.worst = r.found->shown.value->worst;
  r.worst_case = summary(r.found->minimal);
  return true;
}

// Asks for suspicion on the mild case of given size with the most elements.
void ask_for_suspicion(check_result& r, implementation& under_test, std::vector<case_key> plan,
                       const run_options& options) {
  if (r.worst.output.empty()) return;  // nothing was compared with the truth
  std::erase_if(plan, [&](const case_key& k) { return !k.size.is_given() || !is_mild(*r.operation, k.family); });
  const auto places = [](const case_key& k) {
    double product = 1;
    for (const auto& axis : k.size.axes) product *= static_cast<double>(axis.second);
    return product;
  };
  std::ranges::stable_sort(plan, std::greater(), places);
  for (const case_key& k : plan) {
    const test_case c = make_case(k);
    if (options.leaves_out(c) || !within_domain(under_test.describe(), c)) continue;
    r.suspicious = suspicion_of(under_test, c);
    if (r.suspicious) r.suspicious_case = summary(c);
    return;
  }
}

// Computes the truths and allowances of all planned cases, on all cores.
void prepare(const std::vector<test_case>& cases, const description& about) {
  std::vector<request> calls;
  for (const test_case& c : cases)
    if (within_domain(about, c)) calls.push_back(c.call);
  if (!calls.empty()) expect_all(calls, about.precisions_of(calls.front()));
}

}  // namespace

void record_case(check_result& r, const test_case& c, const outcome& o) {
  ++r.cases[o.verdict];
  if (o.verdict == status::unsupported && o.failure) record_declined(r, o.failure->message);
  if (o.verdict == status::passed) ++r.families[c.family];
  if (o.value) record_judged(r, *o.value, c);
  for (const refusal& now : o.refused)
    if (std::none_of(r.refused.begin(), r.refused.end(),
                     [&](const refusal& before) { return before.axis == now.axis; }))
      r.refused.push_back(now);
}

check_result run_property(const property& p, implementation& under_test, const core::operation& op, core::dtype type,
                          const run_options& options) {
  check_result r;
  r.checked = &p;
  r.operation = &op;
  r.type = type;
  const std::vector<case_key> plan = plan_of(p, under_test.describe(), op, type, options);
  r.planned = plan.size();
  // Large cases are made one at a time.
  const auto first_large = std::find_if(plan.begin(), plan.end(), [](const case_key& k) { return k.size.is_given(); });
  std::vector<test_case> prepared;
  if (options.prepares && p.decides_class) {
    for (auto key = plan.begin(); key != first_large; ++key) prepared.push_back(make_case(*key));
    prepare(prepared, under_test.describe());
  }
  std::vector<std::string> visited;
  std::map<std::string, std::size_t> inside;  // by family: cases that lie inside the domain
  bool goes_on = true;
  for (std::size_t k = 0; k < plan.size() && goes_on; ++k) {
    if (options.stopped()) break;
    const std::size_t outside_before = r.count(status::outside_domain);
    const test_case c = k < prepared.size() ? prepared[k] : make_case(plan[k]);
    if (plan[k].size.is_given() && options.leaves_out(c))
      ++r.cases[status::unsupported];
    else
      goes_on = !run_case(r, under_test, c, options);
    if (visited.empty() || visited.back() != plan[k].family) visited.push_back(plan[k].family);
    if (r.count(status::outside_domain) == outside_before) ++inside[plan[k].family];
  }
  if (p.decides_class && !r.found && !options.goes_on && !options.stopped())
    ask_for_suspicion(r, under_test, plan, options);
  // If the run stopped within a family, nothing is known about that family.
  if (r.run() < r.planned && !visited.empty()) visited.pop_back();
  for (const std::string& name : visited)
    if (inside[name] == 0 &&
        std::find(r.families_skipped.begin(), r.families_skipped.end(), name) == r.families_skipped.end())
      r.families_skipped.push_back(name);
  return r;
}

std::vector<check_result> run_properties(implementation& under_test, const core::operation& op, core::dtype type,
                                         const run_options& options) {
  std::vector<check_result> results;
  if (!under_test.describe().offers(op.name, type)) return results;
  for (const property& p : properties())
    if (is_checked(p, op, under_test.describe())) results.push_back(run_property(p, under_test, op, type, options));
  return results;
}

}  // namespace assay::properties
