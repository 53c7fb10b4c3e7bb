#include "properties/harness/runner.hpp"

#include <fmt/format.h>
#include <rapidcheck/Random.h>

#include <algorithm>
#include <bit>

#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

// Distinct streams for every operation, dtype, family and range of lengths: a filter changes no other case. All
// properties get the same cases, some more of them and some fewer: the truth of a case, which is most of the
// work, is computed once.
std::uint64_t stream(std::uint64_t seed, const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325u ^ seed;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Where each call costs a time limit, a smaller case is not worth the wait.
bool worth_shrinking(const outcome& o) {
  if (!o.failure) return true;
  const fault kind = o.failure->kind;
  return kind != fault::timed_out && kind != fault::silent_hello && kind != fault::out_of_memory;
}

// How far beyond its allowance an outcome lies, where that is known.
double ratio_to_allowance(const outcome& o) { return o.value ? o.value->worst.ratio : 0.0; }

counterexample shrink(const property& p, implementation& under_test, const test_case& failed, outcome shown,
                      const run_options& options) {
  counterexample found{failed, failed, std::move(shown)};
  if (!worth_shrinking(found.shown)) return found;
  // A counterexample that fails by a hair explains nothing: a blatant failure stays blatant.
  const double at_least = ratio_to_allowance(found.shown) / 16;
  std::size_t budget = options.shrink_calls;
  const auto deadline = std::chrono::steady_clock::now() + options.shrink_time;
  const std::function<bool(const test_case&)> still_fails = [&](const test_case& c) {
    if (budget == 0 || options.stopped() || std::chrono::steady_clock::now() > deadline) return false;
    --budget;
    outcome o = p.check(under_test, c);
    if (options.stopped()) return false;  // it may have failed because nothing was asked
    if (o.verdict != status::failed || ratio_to_allowance(o) < at_least) return false;
    found.shown = std::move(o);
    return true;
  };
  // The search of rc::shrinkable::findLocalMin, spelt out: GCC 12 takes its Maybe for uninitialised.
  for (bool smaller = true; smaller;) {
    const std::vector<test_case> simpler = simpler_cases(found.minimal);
    const auto next = std::find_if(simpler.begin(), simpler.end(), still_fails);
    smaller = next != simpler.end();
    if (smaller) found.minimal = *next;
  }
  return found;
}

void record_for_drawing(check_result& r, const value_report& value, const test_case& c) {
  double& family = r.error_to_allowance[c.family];
  family = std::max(family, value.worst.ratio / bug_slack);
  const auto sizes = sizes_of(c);
  const auto n = sizes.find("n");
  if (n == sizes.end() || n->second == 0) return;
  error_at_length& here = r.by_length[std::bit_floor(n->second)];
  ++here.cases;
  here.failed = here.failed || !value.passed;
  for (std::size_t k = 0; k < here.ratios.size(); ++k) here.ratios[k] = std::max(here.ratios[k], value.ratios[k]);
  if (value.largest_ulp <= here.largest_ulp) return;
  here.largest_ulp = value.largest_ulp;
  here.law_ulp = value.law_ulp;
}

void record_value(check_result& r, const value_report& value, const test_case& c) {
  for (std::size_t k = 0; k < r.ratios.size(); ++k)
    if (value.ratios[k] > r.ratios[k] || !r.forced_by[k]) {
      r.ratios[k] = std::max(r.ratios[k], value.ratios[k]);
      r.forced_by[k] = c;
    }
  r.largest_ulp = std::max(r.largest_ulp, value.largest_ulp);
  if (const auto needed = value.accuracy_class()) ++r.needed_by[static_cast<std::size_t>(*needed)];
  if (r.worst.output.empty() || value.worst.ratio > r.worst.ratio) {
    r.worst = value.worst;
    r.worst_case = summary(c);
  }
}

// Checks one case; true where it failed.
bool run_case(check_result& r, implementation& under_test, const test_case& c, const run_options& options) {
  outcome o = r.checked->check(under_test, c);
  ++r.cases[o.verdict];
  if (o.verdict == status::passed) ++r.families[c.family];
  if (o.value) record_for_drawing(r, *o.value, c);
  if (o.value && o.verdict != status::failed) record_value(r, *o.value, c);
  if (o.verdict != status::failed) return false;
  r.found = shrink(*r.checked, under_test, c, std::move(o), options);
  if (r.found->shown.value) r.worst = r.found->shown.value->worst;
  r.worst_case = summary(r.found->minimal);
  return true;
}

// How many cases of which lengths a property runs of a family.
std::vector<std::pair<extent, std::size_t>> plan_of(const property& p, const family& f, const run_options& options) {
  const std::size_t cases = std::max<std::size_t>(options.cases / p.calls, 1);
  std::vector<std::pair<extent, std::size_t>> plan{{{lengths::short_ones}, cases},
                                                   {{lengths::around_blocks}, std::max<std::size_t>(cases / 4, 1)}};
  if (p.decides_class && options.long_lengths && f.parts_classes)
    plan.push_back({{lengths::long_ones}, std::max<std::size_t>(cases / 16, 1)});
  return plan;
}

}  // namespace

std::size_t check_result::count(status s) const {
  const auto it = cases.find(s);
  return it == cases.end() ? 0 : it->second;
}

std::size_t check_result::run() const {
  return count(status::passed) + count(status::failed) + count(status::uninformative);
}

status check_result::verdict() const {
  for (const status s : {status::failed, status::passed, status::unsupported, status::outside_domain})
    if (count(s) > 0) return s;
  return status::uninformative;
}

std::optional<reference::accuracy_class> check_result::explaining_class() const {
  if (!checked->decides_class || verdict() != status::passed) return std::nullopt;
  for (const auto c : reference::accuracy_classes)
    if (ratios[static_cast<std::size_t>(c)] <= 1.0) return c;
  return std::nullopt;
}

std::optional<reference::accuracy_class> check_result::accuracy_class() const {
  return reference::has_classes(*operation) ? explaining_class() : std::nullopt;
}

std::optional<double> check_result::share_of_law() const {
  if (!checked->decides_class || verdict() != status::passed || reference::has_classes(*operation)) return std::nullopt;
  return class_slack * ratios[static_cast<std::size_t>(reference::one_algorithm)];
}

namespace {

std::vector<family> chosen_families(const property& p, const core::operation& op, const run_options& options) {
  std::vector<family> families = families_of(p, op);
  if (!options.families.empty())
    std::erase_if(families, [&](const family& f) { return !options.families.contains(f.name); });
  return families;
}

// Visits the planned cases of a family until visit(case) is false; says whether it never was.
template <class Visit>
bool visit_cases(const property& p, const family& f, const description& about, const core::operation& op,
                 core::dtype type, const run_options& options, Visit visit) {
  for (const auto& [size, count] : plan_of(p, f, options)) {
    rc::Random random(stream(
        options.seed, fmt::format("{} {} {} {}", op.name, core::name_of(type), f.name, static_cast<int>(size.range))));
    for (std::size_t k = 0; k < count; ++k) {
      rc::Random of_case = random.split();
      if (!visit(make_case(op, type, f, of_case.next(), size, about.settings_of(op)))) return false;
    }
  }
  return true;
}

}  // namespace

void foresee(const property& p, const description& about, const core::operation& op, core::dtype type,
             const run_options& options) {
  std::vector<request> calls;
  for (const family& f : chosen_families(p, op, options))
    visit_cases(p, f, about, op, type, options, [&](const test_case& c) {
      if (within_domain(about, c)) calls.push_back(c.call);
      return true;
    });
  expect_all(calls, about.compute_dtype(type));
}

check_result run_property(const property& p, implementation& under_test, const core::operation& op, core::dtype type,
                          const run_options& options) {
  check_result r;
  r.checked = &p;
  r.operation = &op;
  r.type = type;
  const std::vector<family> families = chosen_families(p, op, options);
  for (const family& f : families)
    for (const auto& [size, count] : plan_of(p, f, options)) r.planned += count;
  for (const family& f : families) {
    const std::size_t outside_before = r.count(status::outside_domain);
    std::size_t visited = 0;
    const bool went_on = visit_cases(p, f, under_test.describe(), op, type, options, [&](const test_case& c) {
      ++visited;
      return !options.stopped() && !run_case(r, under_test, c, options);
    });
    if (!went_on) return r;
    if (r.count(status::outside_domain) - outside_before == visited) r.families_skipped.push_back(f.name);
  }
  return r;
}

std::vector<check_result> run_properties(implementation& under_test, const core::operation& op, core::dtype type,
                                         const run_options& options) {
  std::vector<check_result> results;
  if (!under_test.describe().offers(op.name, type)) return results;
  for (const property& p : properties())
    if (is_asked(p, op, under_test.describe())) results.push_back(run_property(p, under_test, op, type, options));
  return results;
}

}  // namespace assay::properties
