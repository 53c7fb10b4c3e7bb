#include "properties/diagnosis/probes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <xtensor/xbuilder.hpp>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/element_judge.hpp"
#include "properties/harness/runner.hpp"
#include "properties/harness/verdict.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

// Every small length, and those around the sizes of blocks.
constexpr std::size_t lengths_tried[] = {0,  1,  2,  3,   4,   5,   6,   7,   8,   9,   10,  12,
                                         15, 16, 17, 20,  31,  32,  33,  40,  63,  64,  65,  66,
                                         70, 80, 96, 100, 127, 128, 129, 144, 200, 257, 260, 300};
constexpr std::size_t cases_of_family = 3, cases_like_counterexample = 4;
constexpr std::size_t families_confirmed = 6, cases_confirming = 8;
// The most elements computed for one length: pairs of tokens are many.
constexpr std::size_t most_elements = 20000, most_elements_of_large = std::size_t{1} << 17;

// Joins the batch rows of two cases into one; an input without a batch axis is that of the first case.
core::tensors join_rows(const core::operation& op, const core::tensors& first, const core::tensors& second) {
  core::tensors joined;
  const std::string rows_axis = core::axis_with(op, core::axis_role::batch);
  for (const auto& d : op.inputs) {
    const core::tensor& t = first.at(d.name);
    const auto axis = core::axis_of(d, rows_axis);
    joined.emplace(
        d.name,
        axis ? core::tensor{t.type, xt::concatenate(xt::xtuple(t.values, second.at(d.name).values), *axis)} : t);
  }
  return joined;
}

constexpr std::size_t rows = 3;  // with two rows, the row before cannot be told from the first row

// All rows have the same sizes: the number of features of a module is drawn.
std::optional<test_case> length_case(const description& about, const core::operation& op, core::dtype type,
                                     const family& mild, std::uint64_t seed, std::size_t tokens) {
  const auto row = [&](std::uint64_t row_seed) {
    return make_case(key_for(about, op, type, mild.name, row_seed, {lengths::exactly, tokens}), mild);
  };
  test_case c = row(seed);
  if (op.drawn) return c;
  const core::axis_sizes row_sizes = sizes_of(c);
  std::size_t joined = 1;
  for (std::uint64_t k = 1; k < 64 && joined < rows; ++k) {
    const test_case other = row(seed + k * 0x9e3779b97f4a7c15u);
    if (sizes_of(other) != row_sizes) continue;
    c.call.inputs = join_rows(op, c.call.inputs, other.call.inputs);
    ++joined;
  }
  return joined == rows ? std::optional(std::move(c)) : std::nullopt;
}

std::size_t elements_of(const test_case& c) {
  const core::axis_sizes sizes = sizes_of(c);
  std::size_t elements = 0;
  for (const auto* declared : {&c.call.operation->inputs, &c.call.operation->outputs})
    for (const auto& d : *declared) elements += core::element_count(core::shape_of(d, sizes));
  return elements;
}
bool is_too_large(const test_case& c) { return elements_of(c) > most_elements; }

// Finds the elements that the verdict calls a bug. The verdict names one; a probe that it passes has none.
void find_wrong(probe& p, const reference::allowances& laws, const core::precisions& compute,
                const value_report& judged) {
  p.right = judged.passed;
  for (const auto& [name, t] : p.actual) {
    const core::dtype storage = t.type;
    const auto& k = laws.at(name).k.back().storage();
    auto& allowed = p.allowed[name];
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double truth = p.truth_of(name, i), x = t.values.storage()[i];
      allowed.push_back(allowed_error(storage, compute, k[i], truth));
      if (p.right || core::same_value(x, truth)) continue;
      const bool special = !std::isfinite(x) || !std::isfinite(truth);
      if (special || !(std::fabs(p.truth->truth.at(name).error_of(x, i)) <= allowed[i])) p.wrong[name].push_back(i);
    }
  }
  if (!p.right && p.wrong.empty()) p.wrong[judged.worst.output].push_back(judged.worst.index);
}

// The case with numbers in place of NaN and infinities, in one input or in all; nothing if there are none.
std::optional<test_case> without_specials(const test_case& c, const std::string& only_input = "") {
  test_case finite = c;
  bool changed = false;
  for (auto& [name, t] : finite.call.inputs) {
    if (!only_input.empty() && name != only_input) continue;
    auto& x = t.values.storage();
    const auto number = std::find_if(x.begin(), x.end(), [](double v) { return std::isfinite(v); });
    const double other = number == x.end() ? 0.0 : *number;
    for (double& v : x)
      if (!std::isfinite(v)) v = other, changed = true;
  }
  return changed && core::check_request(finite.call) ? std::optional(finite) : std::nullopt;
}

// Finds whether the case is right without special values, and in which input alone they are the cause.
void find_cause(probe& p, implementation& under_test, const core::precisions& compute) {
  if (p.right) return;
  const auto is_right_without = [&](const std::string& input) {
    const auto finite = without_specials(p.c, input);
    if (!finite || !within_domain(under_test.describe(), *finite)) return false;
    const call_result outputs = under_test.evaluate(finite->call);
    return outputs && judge(finite->call, compute, *outputs).passed;
  };
  p.needs_special = is_right_without("");
  if (!p.needs_special) return;
  for (const auto& [name, t] : p.c.call.inputs)
    if (is_right_without(name)) p.special_inputs.insert(name);
}

double largest(const core::tensor& t) {
  double most = 0;
  for (const double x : t.values.storage())
    most = std::isfinite(x) ? std::max(most, std::fabs(x)) : std::numeric_limits<double>::infinity();
  return most;
}

// Whether the inputs are those of the key, or no larger than those of a mild case: a smaller case has simpler values.
bool is_of_family(const test_case& c) {
  if (c.key.operation == nullptr || find_family(*c.key.operation, c.key.family) == nullptr) return false;
  const core::tensors drawn = make_case(c.key).call.inputs;
  return std::all_of(c.call.inputs.begin(), c.call.inputs.end(), [&](const auto& input) {
    const auto& [name, t] = input;
    const auto before = drawn.find(name);
    if (before == drawn.end()) return false;
    if (!is_mild(c)) return core::identical(t, before->second);
    return !core::is_floating(t.type) || largest(t) <= std::max(1.0, largest(before->second));
  });
}

constexpr std::size_t informative_tokens = 3;

// Cases of the key's family with another size of one axis, or another value of one setting: cases that differ in
// everything do not tell which of them matters.
std::vector<test_case> changed_in_one(case_key key, const test_case& from) {
  const core::operation& op = *key.operation;
  core::axis_sizes sizes = sizes_of(from);
  if (const auto n = sizes.find(core::axis_with(op, core::axis_role::token)); n != sizes.end())
    n->second = std::max(n->second, informative_tokens);
  std::vector<test_case> all;
  const core::attributes settings = core::completed(op, from.call.attributes);
  const auto add = [&](const core::axis_sizes& all_sizes, const core::attributes& with) {
    if (op.conflict != nullptr && !op.conflict(with, all_sizes).empty()) return;
    key.size = extent(all_sizes);
    for (const core::attribute_declaration& a : op.attributes) key.settings[a.name] = {with.at(a.name)};
    all.push_back(make_case(key));
  };
  for (const std::string& axis : core::free_axes(op))
    for (const std::size_t other : {sizes.at(axis) > 2 ? std::size_t{2} : std::size_t{3}, sizes.at(axis) + 1}) {
      core::axis_sizes changed = sizes;
      changed[axis] = other;
      add(changed, settings);
    }
  for (const core::attribute_declaration& a : op.attributes)
    for (const core::attribute& value : a.values) {
      if (!a.axis.empty() || value == settings.at(a.name)) continue;
      core::attributes changed = settings;
      changed[a.name] = value;
      add(sizes, changed);
      break;
    }
  return all;
}

// Cases with the counterexample's sizes and settings and other numbers, of its family and mild ones, and cases with
// another size of one axis or another value of one setting. Of the former every second case has at least three tokens:
// the first token, at position 0, may tell nothing. It has at least three rows if the counterexample has several.
std::vector<test_case> like(const test_case& counterexample, std::uint64_t seed) {
  std::vector<test_case> all;
  const core::operation& op = *counterexample.call.operation;
  const core::axis_sizes sizes = sizes_of(counterexample);
  case_key key{&op, counterexample.call.type, counterexample.family, seed, extent(sizes), {}};
  for (const auto& [name, value] : counterexample.call.attributes)
    if (op.attribute(name) != nullptr) key.settings[name] = {value};
  const std::string tokens = core::axis_with(op, core::axis_role::token),
                    batch = core::axis_with(op, core::axis_role::batch);
  for (const std::string& name : std::set<std::string>{counterexample.family, mild_family_of(op).name}) {
    if (find_family(op, name) == nullptr) continue;
    key.family = name;
    for (std::size_t k = 0; k < cases_like_counterexample; ++k) {
      key.seed = seed + 5000 + k;
      if (const auto n = sizes.find(tokens); n != sizes.end())
        key.size.axes[tokens] = k % 2 == 0 ? n->second : std::max(n->second, informative_tokens);
      if (const auto B = sizes.find(batch); B != sizes.end() && B->second > 1)
        key.size.axes[batch] = k % 2 == 0 ? B->second : std::max(B->second, rows);
      all.push_back(make_case(key));
    }
    for (test_case& other : changed_in_one(key, counterexample)) all.push_back(std::move(other));
  }
  return all;
}

bool some_element_is_informative(const probe& p) {
  return std::any_of(p.actual.begin(), p.actual.end(), [&](const auto& output) {
    for (std::size_t i = 0; i < output.second.size(); ++i)
      if (p.informative_at(output.first, i)) return true;
    return false;
  });
}

struct planned_probe {
  test_case c;
  probe_kind kind;
  bool is_as_drawn = true;
};

std::vector<planned_probe> all_cases(const description& about, const core::operation& op, core::dtype type,
                                     const probe_plan& planned) {
  std::vector<planned_probe> all;
  const std::uint64_t seed = planned.seed;
  for (const test_case& c : planned.counterexamples) all.push_back({c, probe_kind::counterexample, is_of_family(c)});
  for (const test_case& c : planned.others) all.push_back({c, probe_kind::family, is_of_family(c)});
  for (const test_case& c : planned.counterexamples)
    for (test_case& other : like(c, seed))
      if (!is_too_large(other)) all.push_back({std::move(other), probe_kind::family});
  for (const test_case& c : planned.counterexamples)
    for (test_case& other : at_places_of(c, seed)) all.push_back({std::move(other), probe_kind::family, false});
  for (const family& f : families_of(op)) {
    if (f.is_mild)
      for (const std::size_t n : lengths_tried) {
        if (!about.sizes_of_axis(op, core::axis_with(op, core::axis_role::token)).holds(n)) continue;
        auto c = length_case(about, op, type, f, seed + n, n);
        if (c && !is_too_large(*c)) all.push_back({std::move(*c), probe_kind::length});
      }
    for (std::size_t k = 0; k < cases_of_family; ++k)
      all.push_back(
          {make_case(key_for(about, op, type, f.name, seed + 1000 + k, lengths::short_ones), f), probe_kind::family});
  }
  // Fresh cases that rest on a convention are left out: a right program may be wrong there, and no fault explains that.
  std::erase_if(all, [](const planned_probe& p) {
    return p.kind != probe_kind::counterexample && rests_on_convention(p.c.call);
  });
  return all;
}

std::size_t size_of(const probe& p) {
  std::size_t elements = 0;
  for (const auto& [name, t] : p.actual) elements += t.size();
  return elements;
}

// Elements that match another right answer need no explanation: the truth stands for them.
void take_truth_for_other_answers(probe& p) {
  for (auto& [name, t] : p.actual) {
    const element_judge element(*p.truth, *p.truth->first_laws, name);
    for (std::size_t i = 0; i < t.size(); ++i)
      if (element.is_other_answer(t.values.storage()[i], i))
        t.values.storage()[i] = p.truth->truth.at(name).rounded.values.storage()[i];
  }
}

}  // namespace

std::optional<bool> is_right(const test_case& c, core::tensors actual, const core::precisions& compute) {
  probe p{c};
  p.actual = std::move(actual);
  p.truth = expect(c.call, compute);
  const value_report judged = judge(*p.truth, p.actual);
  if (!judged.passed) return false;
  return judged.informative && some_element_is_informative(p) ? std::optional(true) : std::nullopt;
}

probe probe_of(const test_case& c, probe_kind kind, core::tensors actual, const core::precisions& compute) {
  probe p{c, kind};
  p.actual = std::move(actual);
  const std::string tokens = core::axis_with(*c.call.operation, core::axis_role::token);
  if (!tokens.empty()) p.tokens = sizes_of(c).at(tokens);
  p.truth = expect(c.call, compute);
  const value_report judged = judge(*p.truth, p.actual);
  take_truth_for_other_answers(p);
  find_wrong(p, *all_laws(*p.truth), compute, judged);
  p.informative = !p.right || (judged.informative && some_element_is_informative(p));
  return p;
}

bool holds_special(const test_case& c) {
  return std::any_of(c.call.inputs.begin(), c.call.inputs.end(), [](const auto& input) {
    const auto& x = input.second.values.storage();
    return std::any_of(x.begin(), x.end(), [](double v) { return !std::isfinite(v); });
  });
}

bool has_empty_axis(const probe& p) {
  const core::axis_sizes sizes = sizes_of(p.c);
  return std::any_of(sizes.begin(), sizes.end(), [](const auto& s) { return s.second == 0; });
}

bool probe::informative_at(const std::string& output, std::size_t i) const {
  const core::tensor& y = truth->truth.at(output).rounded;
  const double x = y.values.storage()[i];
  if (!core::is_floating(y.type)) return true;
  return x != 0.0 && std::fabs(x) != 1.0 &&
         std::none_of(c.call.inputs.begin(), c.call.inputs.end(), [&](const auto& input) {
           return input.second.shape() == y.shape() && core::same_value(input.second.values.storage()[i], x);
         });
}

namespace {

std::vector<probe> answers_to(implementation& under_test, const std::vector<planned_probe>& cases) {
  std::vector<probe> answered;
  for (const auto& [c, kind, is_as_drawn] : cases) {
    const core::precisions compute = under_test.describe().precisions_of(c.call);
    if (!within_domain(under_test.describe(), c)) continue;
    call_result outputs = under_test.evaluate(c.call);
    if (!outputs && outputs.error().kind == fault::unsupported) continue;
    if (!outputs) break;
    answered.push_back(probe_of(c, kind, std::move(*outputs), compute));
    answered.back().is_as_drawn = is_as_drawn;
    find_cause(answered.back(), under_test, compute);
  }
  return answered;
}

void sort(std::vector<probe>& probes) {
  std::stable_sort(probes.begin(), probes.end(), [](const probe& a, const probe& b) {
    return std::pair(a.right, size_of(a)) < std::pair(b.right, size_of(b));
  });
}

}  // namespace

std::vector<probe> run_probes(implementation& under_test, const core::operation& op, core::dtype type,
                              const probe_plan& planned) {
  auto probes = answers_to(under_test, all_cases(under_test.describe(), op, type, planned));
  sort(probes);
  return probes;
}

void add_large_probes(std::vector<probe>& probes, implementation& under_test, std::uint64_t seed) {
  std::vector<planned_probe> more;
  for (const probe& p : probes)
    if (!p.right && p.kind == probe_kind::counterexample && elements_of(p.c) <= most_elements_of_large)
      for (test_case& c : like(p.c, seed)) {
        if (!is_too_large(c) || elements_of(c) > most_elements_of_large) continue;
        more.push_back({std::move(c), probe_kind::family});
      }
  for (probe& p : answers_to(under_test, more)) probes.push_back(std::move(p));
  sort(probes);
}

void add_probes(std::vector<probe>& probes, implementation& under_test, std::uint64_t seed) {
  std::set<std::string> families;
  for (const probe& p : probes)
    if (!p.right && families.size() < families_confirmed) families.insert(p.c.family);
  const core::operation& op = *probes.front().c.call.operation;
  std::vector<planned_probe> more;
  for (const std::string& name : families)
    for (std::size_t k = 0; k < cases_confirming && find_family(op, name) != nullptr; ++k)
      more.push_back({make_case(key_for(under_test.describe(), op, probes.front().c.call.type, name, seed + 9000 + k,
                                        lengths::short_ones)),
                      probe_kind::family});
  for (probe& p : answers_to(under_test, more)) probes.push_back(std::move(p));
  sort(probes);
}

}  // namespace assay::properties
