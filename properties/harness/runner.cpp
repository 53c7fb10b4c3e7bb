#include "properties/harness/runner.hpp"

#include <fmt/format.h>
#include <rapidcheck/Random.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "properties/harness/case_generator.hpp"
#include "properties/harness/catalogue.hpp"
#include "properties/harness/certified_implementation.hpp"
#include "reference/core/fnv1a.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {

void widen_class(check_result& r, const test_case& c, const value_report& value) {
  for (std::size_t k = 0; k < r.ratios.size(); ++k)
    if (value.ratios[k] > r.ratios[k] || !r.forced_by[k]) {
      r.ratios[k] = std::max(r.ratios[k], value.ratios[k]);
      r.forced_by[k] = summary(c);
    }
}

namespace {

// Distinct streams for every operation, dtype, family and range of lengths: a filter changes no other case. All
// properties get the same cases, some more of them and some fewer: the truth of a case, which is most of the
// work, is computed once.
rc::Random stream_of(std::uint64_t seed, const case_key& k) {
  return rc::Random(core::fnv1a(
      fmt::format("{} {} {} {}", k.operation->name, core::name_of(k.type), k.family, static_cast<int>(k.size.range)),
      seed));
}

// Where each call costs a time limit, a smaller case is not worth the wait.
bool worth_shrinking(const outcome& o) {
  if (!o.failure) return true;
  const fault kind = o.failure->kind;
  return kind != fault::timed_out && kind != fault::silent_hello && kind != fault::out_of_memory;
}

// How far beyond its allowance an outcome lies, where that is known.
double ratio_to_allowance(const outcome& o) { return o.value ? o.value->worst.ratio : 0.0; }

enum class value_kind { finite, infinite, nan };
value_kind kind_of_value(double x) {
  return std::isnan(x) ? value_kind::nan : std::isinf(x) ? value_kind::infinite : value_kind::finite;
}

// The same failure: of the same kind, in the same output, with the same kinds of value. Another one would be shown in
// its place.
bool fails_alike(const outcome& smaller, const outcome& larger) {
  if (smaller.verdict != status::failed || smaller.failure.has_value() != larger.failure.has_value()) return false;
  if (smaller.failure) return smaller.failure->kind == larger.failure->kind;
  if (smaller.value.has_value() != larger.value.has_value()) return false;
  if (!smaller.value) return true;
  const element_report &x = smaller.value->worst, &y = larger.value->worst;
  return x.output == y.output && kind_of_value(x.expected) == kind_of_value(y.expected) &&
         kind_of_value(x.actual) == kind_of_value(y.actual);
}

// RapidCheck walks the cases; one counts only where the failure is the same and the reference passes.
counterexample shrink(const property& p, implementation& under_test, const test_case& failed, outcome shown,
                      const run_options& options) {
  counterexample found{failed, failed, std::move(shown)};
  certified_implementation reference(certified_implementation::precisions::first);
  found.reference_passes = p.check(reference, failed).verdict != status::failed;
  if (!worth_shrinking(found.shown)) return found;
  // A counterexample that fails by a hair explains nothing: a blatant failure stays blatant.
  const double at_least = ratio_to_allowance(found.shown) / 16;
  std::size_t budget = options.shrink_calls;
  const auto deadline = std::chrono::steady_clock::now() + options.shrink_time;
  const auto still_fails = [&](const test_case& c) {
    if (budget == 0 || options.stopped() || std::chrono::steady_clock::now() > deadline) return false;
    --budget;
    outcome o = p.check(under_test, c);
    if (options.stopped()) return false;  // it may have failed because nothing was asked
    if (!fails_alike(o, found.shown) || ratio_to_allowance(o) < at_least) return false;
    if (found.reference_passes && p.check(reference, c).verdict == status::failed) return false;
    found.shown = std::move(o);
    return true;
  };
  found.minimal =
      smallest_failing(shrinkable_case(failed, stays_in_domain(failed, under_test.describe())), still_fails);
  return found;
}

void record_for_drawing(check_result& r, const value_report& value, const test_case& c) {
  double& family = r.error_to_allowance[c.family];
  family = std::max(family, value.worst.ratio / bug_slack);
  const core::error_growth* grows = c.call.operation->grows_with;
  if (grows == nullptr) return;
  constexpr double largest_key = 0x1p63;
  const double reach = grows->of(c.call.inputs, sizes_of(c));
  error_there& here = r.by_growth[std::bit_floor(static_cast<std::uint64_t>(std::clamp(reach, 1.0, largest_key)))];
  ++here.cases;
  here.farthest = std::max(here.farthest, reach);
  if (!grows->of_mild_inputs || c.family == "mild") {
    here.told = std::max(here.told, reach);
    // A wrong case keeps no digit: where it is no number, its error in ulp says nothing.
    here.told_ulp = std::max(here.told_ulp, value.passed ? value.largest_ulp : std::numeric_limits<double>::infinity());
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
  record_for_drawing(r, value, c);
  for (const auto& [symbol, size] : sizes_of(c)) r.largest_sizes[symbol] = std::max(r.largest_sizes[symbol], size);
  if (value.passed) record_value(r, value, c);
}

// Checks one case; true where it failed.
bool run_case(check_result& r, implementation& under_test, const test_case& c, const run_options& options) {
  outcome o = r.checked->check(under_test, c);
  ++r.cases[o.verdict];
  if (o.verdict == status::passed) ++r.families[c.family];
  if (o.value) record_judged(r, *o.value, c);
  if (o.verdict != status::failed || options.goes_on) return false;
  r.found = shrink(*r.checked, under_test, c, std::move(o), options);
  if (!r.found->reference_passes)
    r.found->shown.message += " (the reference fails here, too: this is a fault of Assay)";
  if (r.found->shown.value) r.worst = r.found->shown.value->worst;
  r.worst_case = summary(r.found->minimal);
  return true;
}

// How many cases of which lengths a property runs of a family.
std::vector<std::pair<extent, std::size_t>> lengths_of(const property& p, const family& f, const run_options& options) {
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

std::vector<digits_up_to> check_result::digits() const {
  const auto& outputs = operation->outputs;
  if (std::none_of(outputs.begin(), outputs.end(), [&](const auto& d) { return core::is_floating(d.type_in(type)); }))
    return {};
  // An ulp of the scale is at most that part of it.
  const double ulp = std::ldexp(1.0, 1 - core::format_of(type).precision);
  std::vector<error_there> told;
  for (const auto& [from, there] : by_growth)
    if (there.told >= 0) told.push_back(there);
  std::vector<digits_up_to> all;
  for (int digits = static_cast<int>(core::format_of(type).precision * 0.30103); digits >= 1; --digits) {
    const auto lost = std::find_if(told.begin(), told.end(), [&](const error_there& there) {
      return !(there.told_ulp * ulp <= std::pow(10.0, -digits));
    });
    if (lost == told.begin()) continue;
    const double farthest = std::prev(lost)->told;
    if (all.empty() || farthest > all.back().farthest) all.push_back({digits, farthest});
    if (lost == told.end()) break;
  }
  return all;
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

const setting_values& settings_to_draw(const description& about, const core::operation& op) {
  static const setting_values all_values;
  return about.recorded ? all_values : about.settings_of(op);
}

namespace {

using many_sizes = std::vector<core::axis_sizes>;

// The usual sizes of the operation, as many as are asked for.
many_sizes usual_sizes(const core::operation& op, const run_options& options) {
  many_sizes all;
  const encoding_tests* tests = encoding_tests_of(op);
  if (tests != nullptr && options.sizes != run_options::usual::none)
    for (const usual_size& u : tests->sizes)
      if ((u.always || options.sizes == run_options::usual::all) &&
          std::find(u.functions.begin(), u.functions.end(), op.forward_name()) != u.functions.end())
        all.push_back(u.axes);
  return all;
}

// Both ends of each axis whose sizes are declared to end.
many_sizes declared_ends(const size_domains& declared) {
  constexpr std::size_t affordable = std::size_t{1} << 20;
  many_sizes all;
  for (const auto& [symbol, sizes] : declared)
    for (const std::size_t end : {sizes.nearest(1), sizes.nearest(sizes.high)})
      if (end > 0 && end <= affordable) all.push_back({{symbol, end}});
  return all;
}

// The sizes beyond those of families at which a property is run: inside the declared ones, but for those that somebody
// asked for by number.
many_sizes planned_sizes(const property& p, const core::operation& op, const size_domains& declared,
                         const run_options& options) {
  if (!p.decides_class) return {};
  many_sizes all = declared_ends(declared);
  for (core::axis_sizes& usual : usual_sizes(op, options)) all.push_back(std::move(usual));
  for (core::axis_sizes& axes : all) {
    for (const auto& [symbol, sizes] : declared) axes.try_emplace(symbol, sizes.nearest(1));
    for (auto& [symbol, size] : axes)
      if (const auto sizes = declared.find(symbol); sizes != declared.end()) size = sizes->second.nearest(size);
  }
  std::set<core::axis_sizes> seen;
  std::erase_if(all, [&](const core::axis_sizes& axes) { return !seen.insert(axes).second; });
  const std::set<std::string> symbols = core::axis_symbols(op);
  for (const core::axis_sizes& shape : options.shapes)
    if (std::all_of(shape.begin(), shape.end(), [&](const auto& axis) { return symbols.contains(axis.first); }))
      all.push_back(shape);
  return all;
}

// The key of a case of these sizes; where a setting is the size of an axis, that setting is given.
case_key key_of_sizes(const case_key& like, const core::axis_sizes& axes) {
  case_key key = like;
  key.size = extent(axes);
  for (const core::attribute_declaration& a : like.operation->attributes)
    if (const auto size = axes.find(a.axis); size != axes.end())
      key.settings[a.name] = {static_cast<std::int64_t>(size->second)};
  return key;
}

// The families of large cases: those that part classes, or the first.
std::vector<family> families_of_sizes(const property& p, const core::operation& op, const run_options& options) {
  std::vector<family> all = families_of(p, op), parting;
  if (!options.families.empty())
    std::erase_if(all, [&](const family& f) { return !options.families.contains(f.name); });
  std::copy_if(all.begin(), all.end(), std::back_inserter(parting), [](const family& f) { return f.parts_classes; });
  if (!parting.empty()) return parting;
  all.resize(std::min<std::size_t>(all.size(), 1));
  return all;
}

}  // namespace

case_key key_for(const description& about, const core::operation& op, core::dtype type, std::string family,
                 std::uint64_t seed, extent size) {
  case_key key{&op, type, std::move(family), seed, std::move(size), settings_to_draw(about, op)};
  if (const auto declared = about.domain.find(op.name); declared != about.domain.end() && !about.recorded)
    key.domain = declared->second;
  if (const auto declared = about.sizes.find(op.name); declared != about.sizes.end() && !about.recorded)
    key.sizes = declared->second;
  return key;
}

std::vector<case_key> plan_of(const property& p, const description& about, const core::operation& op, core::dtype type,
                              const run_options& options) {
  std::vector<case_key> plan;
  for (const family& f : families_of(p, op)) {
    if (!options.families.empty() && !options.families.contains(f.name)) continue;
    for (const auto& [size, count] : lengths_of(p, f, options)) {
      case_key key = key_for(about, op, type, f.name, 0, size);
      rc::Random random = stream_of(options.seed, key);
      for (std::size_t k = 0; k < count; ++k) {
        rc::Random of_case = random.split();
        key.seed = of_case.next();
        plan.push_back(key);
      }
    }
  }
  const std::vector<family> families = families_of_sizes(p, op, options);
  std::size_t next = 0;
  const case_key any = key_for(about, op, type, "", 0, {});
  for (const core::axis_sizes& axes : families.empty() ? many_sizes{} : planned_sizes(p, op, any.sizes, options)) {
    const std::string& name = families[next++ % families.size()].name;
    case_key key = key_of_sizes(key_for(about, op, type, name, 0, {}), axes);
    key.seed = stream_of(options.seed, key).next();
    plan.push_back(std::move(key));
  }
  return plan;
}

namespace {

// Truths and allowances of all planned cases, on all cores.
void prepare(const std::vector<test_case>& cases, const description& about) {
  std::vector<request> calls;
  for (const test_case& c : cases)
    if (within_domain(about, c)) calls.push_back(c.call);
  if (!calls.empty()) expect_all(calls, about.precisions_of(calls.front()));
}

}  // namespace

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
  std::map<std::string, std::size_t> inside;  // by family: cases that do not lie outside the domain
  bool goes_on = true;
  for (std::size_t k = 0; k < plan.size() && goes_on; ++k) {
    if (options.stopped()) break;
    const std::size_t outside_before = r.count(status::outside_domain);
    goes_on = !run_case(r, under_test, k < prepared.size() ? prepared[k] : make_case(plan[k]), options);
    if (visited.empty() || visited.back() != plan[k].family) visited.push_back(plan[k].family);
    if (r.count(status::outside_domain) == outside_before) ++inside[plan[k].family];
  }
  // What broke off in the middle of a family knows nothing of it.
  if (r.run() < r.planned && !visited.empty() && !goes_on) visited.pop_back();
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
    if (is_asked(p, op, under_test.describe())) results.push_back(run_property(p, under_test, op, type, options));
  return results;
}

}  // namespace assay::properties
