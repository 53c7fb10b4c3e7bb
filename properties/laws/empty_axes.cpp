// Shapes with an empty axis have a property of their own: a program that refuses them may be right everywhere else, and
// it refuses with an error. Any other answer is judged: the shapes of its outputs, and the values of outputs that have
// elements.
#include <fmt/format.h>

#include "properties/harness/choices.hpp"
#include "properties/harness/runner.hpp"
#include "properties/harness/steering.hpp"
#include "properties/laws/relations/relations.hpp"

namespace assay::properties {
namespace {

// The case, and the case with each other value of a choice: one mode of a kernel may refuse what another takes. Also
// the case with the standard value of one integer, and of all integers: other values may not go together with an empty
// axis, such as two features that rotate.
std::vector<test_case> with_each_choice(const description& about, const test_case& c) {
  std::vector<test_case> all{c};
  const setting_values within = settings_to_draw(about, *c.call.operation);
  for (const core::attribute_declaration& a : c.call.operation->attributes)
    for (const core::attribute& value : values_to_draw(a, within, {}))
      if (value != c.call.attributes.at(a.name) && (is_choice(a) || (is_integer(a) && value == a.standard)))
        all.push_back(with_settings(c, {{a.name, value}}));
  core::attributes standard;
  for (const core::attribute_declaration& a : c.call.operation->attributes)
    if (is_integer(a)) standard[a.name] = a.standard;
  all.push_back(with_settings(c, standard));
  std::erase_if(all, [&](const test_case& x) { return !core::check_request(x.call) || !within_domain(about, x); });
  return all;
}

std::string choices_in_words(const test_case& c) {
  core::attributes choices;
  for (const core::attribute_declaration& a : c.call.operation->attributes)
    if (is_choice(a)) choices[a.name] = c.call.attributes.at(a.name);
  return core::to_string(choices);
}

// Checks every axis, whatever the results for the others are.
void check_empty_axes(experiment& e) {
  using answer = experiment::answer;
  const core::operation& op = *e.c.call.operation;
  const std::vector<test_case> cases = with_each_choice(e.about(), e.c);
  bool tried = false, answered = false;
  for (const std::string& symbol : core::free_axes(op)) {
    std::optional<refusal> first;
    bool taken = false;
    for (const test_case& c : cases) {
      const test_case empty = with_inputs(c, core::restrict_axis(op, c.call.inputs, symbol, {}));
      if (!core::check_request(empty.call) || !within_domain(e.about(), empty)) continue;
      tried = true;
      std::string error;
      answer got{};
      e.during(fmt::format("{} = 0", symbol), [&] { got = e.right_or_refused(empty, c, error); });
      if (got == answer::refused && !first) first = refusal{symbol, choices_in_words(c), error};
      taken = taken || got == answer::right;
    }
    if (taken) e.count(true);  // the shapes of the outputs were compared
    if (first && !taken) first->settings.clear();
    if (first) e.note(*first);
    answered = answered || taken;
  }
  if (tried && !answered) throw experiment::ended{{status::unsupported}};
}

}  // namespace

property empty_axes_property() {
  property p =
      law("empty_axes", "an axis of size 0 is refused with an error, or outputs are empty and states stay as they were",
          {.with = [](const core::operation& op) { return !core::free_axes(op).empty(); }, .of_mild_inputs = true},
          {8, check_empty_axes});
  p.stays_because = "programs refuse such shapes, or give outputs of wrong shapes: no mutant's outputs have those";
  return p;
}

}  // namespace assay::properties
