#include "properties/diagnosis/facts.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "properties/diagnosis/conditions.hpp"
#include "properties/diagnosis/reach.hpp"
#include "properties/diagnosis/sentences.hpp"
#include "properties/diagnosis/symptoms.hpp"
#include "properties/harness/catalogue.hpp"
#include "properties/harness/element_judge.hpp"

namespace assay::properties {
namespace {

using probes_seen = std::vector<const probe*>;

template <class Test>
probes_seen probes_where(const std::vector<probe>& probes, Test test) {
  probes_seen all;
  for (const probe& p : probes)
    if (test(p)) all.push_back(&p);
  return all;
}

// Whether all elements of an output err by no more than half of what plain arithmetic explains. If the allowance is
// wide, elements that are no bug may still be wrong.
bool looks_right(const probe& p, const std::string& output) {
  constexpr double share = 0.5;
  const element_judge element(*p.truth, *p.truth->first_laws, output);
  const auto& x = p.actual.at(output).values.storage();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (element.ratios(x[i], i)[sequential] > share) return false;
  return true;
}

std::set<std::size_t> lengths_of(const probes_seen& probes) {
  std::set<std::size_t> all;
  for (const probe* p : probes)
    if (p->tokens > 0) all.insert(p->tokens);
  return all;
}

// Names the wrong cases, if no rule describes them: their lengths, or their number.
std::string in_some(const probes_seen& wrong, const probes_seen& right, size_experiments& again) {
  const auto wrong_lengths = lengths_of(wrong), right_lengths = lengths_of(right);
  std::set<std::size_t> both;
  std::set_intersection(wrong_lengths.begin(), wrong_lengths.end(), right_lengths.begin(), right_lengths.end(),
                        std::inserter(both, both.end()));
  if (both.empty() && !wrong_lengths.empty() && !right_lengths.empty() &&
      again.confirm(core::axis_with(*wrong.front()->c.call.operation, core::axis_role::token), wrong,
                    {*wrong_lengths.begin()}, right, {*right_lengths.begin()}))
    return words::at_lengths({wrong_lengths.begin(), wrong_lengths.end()},
                             {right_lengths.begin(), right_lengths.end()});
  return words::in_some(wrong.size(), wrong.size() + right.size());
}

// The probes whose NaN is not a matter of convention: programs give NaN where there is nothing to weigh.
probes_seen without_convention(const probes_seen& probes) {
  probes_seen kept;
  std::copy_if(probes.begin(), probes.end(), std::back_inserter(kept),
               [](const probe* p) { return !rests_on_convention(p->c.call); });
  return kept;
}

// Returns the words that follow "large |h| gives".
std::string gives_words(const probes_seen& wrong) {
  using words::given;
  if (is_in_each(symptom::not_a_number, wrong)) return words::gives(given::all_nan);
  if (is_in_each(symptom::infinite, wrong)) return words::gives(given::all_infinite);
  const symptom s = common_symptom(wrong);
  if (s == symptom::finite_mask) return words_of(s, wrong);
  if (is_in_some(symptom::not_a_number, without_convention(wrong))) return words::gives(given::nan_among_them);
  return words::gives(is_in_some(symptom::infinite, wrong) ? given::infinities_among_them : given::numbers_wrong);
}

std::string special_sentence(const probes_seen& wrong) {
  const auto holds = [&](auto test) {
    return std::all_of(wrong.begin(), wrong.end(), [&](const probe* p) {
      return std::any_of(p->c.call.inputs.begin(), p->c.call.inputs.end(), [&](const auto& input) {
        const auto& x = input.second.values.storage();
        return std::any_of(x.begin(), x.end(), test);
      });
    });
  };
  const bool is_nan = holds([](double x) { return std::isnan(x); });
  if (common_symptom(wrong) == symptom::lost_nan) return words::special_is_lost(is_nan);
  return words::special_gives(is_nan, gives_words(wrong), is_in_each(symptom::not_a_number, wrong));
}

// "h = -inf gives", if infinities of other inputs play no part.
std::optional<std::string> gives_by_inputs(const family_fact& f, const probes_seen& wrong) {
  const auto& inputs = wrong.front()->special_inputs;
  const bool alike =
      std::all_of(wrong.begin(), wrong.end(), [&](const probe* p) { return p->special_inputs == inputs; });
  const auto said = f.gives_by_inputs.find(inputs);
  return alike && said != f.gives_by_inputs.end() ? std::optional(said->second) : std::nullopt;
}

const family_fact* fact_of(const core::operation& op, const std::string& family) {
  const encoding_tests* tests = encoding_tests_of(op);
  if (tests == nullptr) return nullptr;
  const auto it =
      std::find_if(tests->facts.begin(), tests->facts.end(), [&](const family_fact& f) { return f.family == family; });
  return it == tests->facts.end() ? nullptr : &*it;
}

// If the family's inputs are the cause, the encoding's words about the family hold; otherwise the family is named.
std::string sentence_of(const std::string& name, const probes_seen& wrong) {
  const core::operation& op = *wrong.front()->c.call.operation;
  const bool special = std::all_of(wrong.begin(), wrong.end(), [](const probe* p) { return p->needs_special; });
  const bool caused =
      special || std::none_of(wrong.begin(), wrong.end(), [](const probe* p) { return holds_special(p->c); });
  if (const family_fact* f = fact_of(op, name); f != nullptr && caused) {
    const bool infinite = is_in_some(symptom::infinite, wrong), has_nan = is_in_some(symptom::not_a_number, wrong);
    const std::string& whole = has_nan ? "" : infinite ? f->as_infinity : f->otherwise;
    return whole.empty() ? gives_by_inputs(*f, wrong).value_or(f->gives) + " " + gives_words(wrong) : whole;
  }
  const family* f = find_family(op, name);
  if (f != nullptr && f->holds_nan && special) return special_sentence(wrong);
  return words::family_gives(name, gives_words(wrong));
}

// The families in the order in which the encoding speaks of them.
std::vector<std::string> families_in_order(const core::operation& op) {
  std::vector<std::string> all;
  if (const encoding_tests* tests = encoding_tests_of(op))
    for (const family_fact& f : tests->facts) all.push_back(f.family);
  for (const family& f : families_of(op))
    if (std::find(all.begin(), all.end(), f.name) == all.end()) all.push_back(f.name);
  return all;
}

// Names the wrong cases of one family, unless all its cases are wrong. The reach of positions may show in that family
// alone. If a special value is needed, right cases without one tell nothing.
std::string where_in_family(const probes_seen& wrong, const probes_seen& right, size_experiments& again) {
  const bool special = std::all_of(wrong.begin(), wrong.end(), [](const probe* p) { return p->needs_special; });
  probes_seen right_in_family;
  std::copy_if(right.begin(), right.end(), std::back_inserter(right_in_family), [&](const probe* p) {
    return p->c.family == wrong.front()->c.family && (!special || holds_special(p->c));
  });
  if (right_in_family.empty()) return "";
  return where(wrong, right_in_family, again, evidence::informative).value_or("");
}

// For inputs that checks or smaller cases have made from drawn inputs.
std::string sentence_of_changed(const probes_seen& wrong) {
  const bool special = std::all_of(wrong.begin(), wrong.end(), [](const probe* p) { return p->needs_special; });
  return special ? special_sentence(wrong) : what_is_wrong(wrong) + words::on_derived;
}

// The facts if mild inputs are right. Families that are wrong for the same cause share one sentence.
std::string facts_of_families(const probes_seen& wrong, const probes_seen& right, const probes_seen& mild,
                              size_experiments& again) {
  const core::operation& op = *wrong.front()->c.call.operation;
  std::map<std::string, probes_seen> by_family;
  for (const probe* p : wrong)
    if (p->is_as_drawn) by_family[p->c.family].push_back(p);
  probes_seen named;
  std::string first;
  std::optional<std::string> cause;
  std::vector<std::string> others;
  for (const std::string& name : families_in_order(op)) {
    const auto it = by_family.find(name);
    if (it == by_family.end()) continue;
    const family_fact* f = fact_of(op, name);
    const auto own = f == nullptr ? std::nullopt : gives_by_inputs(*f, it->second);
    if (first.empty()) {
      first = name;
      cause = own;
    } else if (!cause || own != cause) {
      others.push_back(name);
      continue;
    }
    named.insert(named.end(), it->second.begin(), it->second.end());
  }
  std::string text = named.empty() ? sentence_of_changed(wrong) : sentence_of(first, named);
  if (by_family.size() == 1) {
    probes_seen and_smaller;
    std::copy_if(wrong.begin(), wrong.end(), std::back_inserter(and_smaller),
                 [&](const probe* p) { return p->c.family == first; });
    text += where_in_family(and_smaller, right, again);
  }
  text += words::also_in(others);
  return mild.empty() ? text : text + words::mild_is_right(lengths_of(mild).size() > 1);
}

// Names the wrong mild cases. If no right case tells anything, the sizes are separated by cases that are right for
// another reason: with one key any weights are right.
std::string where_among_mild(const probes_seen& wrong, const probes_seen& right, const std::vector<probe>& probes,
                             size_experiments& again) {
  const auto rule = where(wrong, right, again, evidence::informative);
  if (!rule) return in_some(wrong, right, again);
  if (!rule->empty()) return *rule;
  const auto any_right =
      probes_where(probes, [](const probe& p) { return p.right && p.is_mild() && !has_empty_axis(p); });
  if (any_right.empty()) return words::every_size;
  const auto apart = where(wrong, any_right, again);
  return apart && !apart->empty() ? *apart : in_some(wrong, any_right, again);
}

}  // namespace

std::string what_is_wrong(const probes_seen& wrong) {
  std::set<std::string> outputs;
  for (const probe* p : wrong)
    for (const auto& [name, elements] : p->wrong) outputs.insert(name);
  bool alone = outputs.size() < wrong.front()->actual.size();
  for (const auto& [name, t] : wrong.front()->actual)
    alone = alone && (outputs.contains(name) ||
                      std::all_of(wrong.begin(), wrong.end(), [&](const probe* p) { return looks_right(*p, name); }));
  return words::outputs_are({outputs.begin(), outputs.end()}, alone, words_of(common_symptom(wrong), wrong));
}

std::string facts_of(const std::vector<probe>& probes, size_experiments& again) {
  const auto wrong = probes_where(probes, [](const probe& p) { return !p.right; });
  const auto fresh =
      probes_where(probes, [](const probe& p) { return !p.right && p.kind != probe_kind::counterexample; });
  const auto right = probes_where(probes, [](const probe& p) { return p.right && p.informative; });
  if (fresh.empty()) return what_is_wrong(wrong) + words::in_counterexample(right.size());
  if (const auto reach = by_reach(wrong, right, again, evidence::informative)) return what_is_wrong(wrong) + *reach;
  const auto wrong_mild = probes_where(probes, [](const probe& p) { return !p.right && p.is_mild(); });
  const auto right_mild = probes_where(probes, [](const probe& p) { return p.right && p.informative && p.is_mild(); });
  if (wrong_mild.empty()) return facts_of_families(wrong, right, right_mild, again);
  return what_is_wrong(wrong_mild) + words::on_mild + where_among_mild(wrong_mild, right_mild, probes, again);
}

}  // namespace assay::properties
