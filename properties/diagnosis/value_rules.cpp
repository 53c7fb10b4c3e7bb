#include "properties/diagnosis/value_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
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

// Of numbers that it is another than usual comes first, as those that were not tried are more.
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

std::vector<value_rule> of_all_wrong(std::vector<value_rule> all, const std::vector<const probe*>& wrong) {
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
  return of_all_wrong(std::move(all), wrong);
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
  return of_all_wrong(std::move(all), wrong);
}

}  // namespace assay::properties
