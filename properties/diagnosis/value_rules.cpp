#include "properties/diagnosis/value_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "properties/harness/choices.hpp"

namespace assay::properties {
namespace {

std::vector<core::attributes> each_but(const core::attribute_declaration& setting, const core::attribute& value) {
  std::vector<core::attributes> all;
  for (const core::attribute& other : setting.values)
    if (other != value) all.push_back({{setting.name, other}});
  return all;
}

// For numbers, the rule "another value than usual" comes first: most values were not tried.
std::vector<value_rule> rules_of(const core::attribute_declaration& setting, const core::attribute& value) {
  const std::string& name = setting.name;
  const value_rule one{fmt::format("{} = {}", name, core::to_string(value)),
                       [=](const core::attributes& x) { return x.at(name) == value; }, each_but(setting, value)};
  const value_rule another{
      fmt::format("{} is not {}", name, core::to_string(setting.standard)),
      [name, standard = setting.standard](const core::attributes& x) { return x.at(name) != standard; },
      {{{name, setting.standard}}},
      each_but(setting, setting.standard)};
  return is_choice(setting) ? std::vector{one, another} : std::vector{another, one};
}

template <class Compare>
value_rule compared_settings(const core::attribute_declaration& one, const char* words,
                             const core::attribute_declaration& other, Compare compare) {
  constexpr std::size_t most = 4;
  value_rule rule{
      fmt::format("{} {} {}", one.name, words, other.name),
      [compare, x = one.name, y = other.name](const core::attributes& all) { return compare(all.at(x), all.at(y)); },
      {}};
  for (const core::attribute& x : one.values)
    for (const core::attribute& y : other.values)
      if (auto& values = compare(x, y) ? rule.alike : rule.others; values.size() < most)
        values.push_back({{one.name, x}, {other.name, y}});
  return rule;
}

std::vector<value_rule> rules_that_hold_in(std::vector<value_rule> all, const std::vector<const probe*>& wrong) {
  std::erase_if(all, [&](const value_rule& rule) {
    return !std::all_of(wrong.begin(), wrong.end(), [&](const probe* p) { return rule.holds_in(*p); });
  });
  return all;
}

}  // namespace

std::vector<value_rule> rules_of_settings(const core::operation& op, const std::vector<const probe*>& wrong) {
  const core::attributes settings = core::completed(op, wrong.front()->c.call.attributes);
  std::vector<value_rule> all;
  for (const core::attribute_declaration& a : op.attributes)
    if (a.axis.empty())
      for (value_rule& rule : rules_of(a, settings.at(a.name))) all.push_back(std::move(rule));
  return rules_that_hold_in(std::move(all), wrong);
}

namespace {

std::set<core::attribute> values_of(const std::string& name, const std::vector<const probe*>& probes) {
  std::set<core::attribute> all;
  for (const probe* p : probes) all.insert(core::completed(*p->c.call.operation, p->c.call.attributes).at(name));
  return all;
}

// The last right value on the way to a wrong one; for types other than integers the value that was tried.
core::attribute last_right(const probe& wrong, const std::string& name, const core::attribute& right_value,
                           const core::attribute& wrong_value, size_experiments& again) {
  if (!std::holds_alternative<std::int64_t>(right_value)) return right_value;
  auto right = std::get<std::int64_t>(right_value), not_right = std::get<std::int64_t>(wrong_value);
  while (std::abs(not_right - right) > 1) {
    const std::int64_t middle = right + (not_right - right) / 2;
    const auto is = again.is_right(wrong, {}, {{name, middle}}, evidence::informative);
    if (!is) break;
    (*is ? right : not_right) = middle;
  }
  return right;
}

}  // namespace

std::vector<value_rule> rules_of_bounds(const core::operation& op, const std::vector<const probe*>& wrong,
                                        const std::vector<const probe*>& right, size_experiments& again) {
  std::vector<value_rule> all;
  for (const core::attribute_declaration& a : op.attributes) {
    if (is_choice(a) || !a.axis.empty() || right.empty()) continue;
    const auto wrong_values = values_of(a.name, wrong), right_values = values_of(a.name, right);
    const bool above = *right_values.rbegin() < *wrong_values.begin();
    if (wrong_values.size() < 2 || (!above && !(*wrong_values.rbegin() < *right_values.begin()))) continue;
    const core::attribute nearest = above ? *wrong_values.begin() : *wrong_values.rbegin();
    const core::attribute bound =
        last_right(*wrong.front(), a.name, above ? *right_values.rbegin() : *right_values.begin(), nearest, again);
    value_rule rule{fmt::format("{} is {} than {}", a.name, above ? "more" : "less", core::to_string(bound)),
                    [name = a.name, bound, above](const core::attributes& x) {
                      return above ? bound < x.at(name) : x.at(name) < bound;
                    },
                    {{{a.name, bound}}}};
    for (const core::attribute& value : right_values) rule.others.push_back({{a.name, value}});
    for (const core::attribute& value : wrong_values) rule.alike.push_back({{a.name, value}});
    all.push_back(std::move(rule));
  }
  return all;
}

std::vector<value_rule> rules_of_two_settings(const core::operation& op, const std::vector<const probe*>& wrong) {
  std::vector<value_rule> all;
  for (auto b = op.attributes.begin(); b != op.attributes.end(); ++b)
    for (auto a = op.attributes.begin(); a != b; ++a) {
      if (is_choice(*a) || is_choice(*b) || !a->axis.empty() || !b->axis.empty() ||
          a->standard.index() != b->standard.index())
        continue;
      all.push_back(compared_settings(*a, "=", *b, std::equal_to<>()));
      all.push_back(compared_settings(*a, "is less than", *b, std::less<>()));
      all.push_back(compared_settings(*b, "is less than", *a, std::less<>()));
    }
  return rules_that_hold_in(std::move(all), wrong);
}

}  // namespace assay::properties
