#include "properties/diagnosis/conditions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "properties/diagnosis/joint_conditions.hpp"
#include "properties/diagnosis/reach.hpp"
#include "properties/diagnosis/value_rules.hpp"

namespace assay::properties {
namespace {

using probes_seen = std::vector<const probe*>;
using sizes_seen = std::set<std::size_t>;

// A case without tokens says nothing about tokens, even if a state passes through it.
bool says_something(const probe* p) {
  if (core::size_with(*p->c.call.operation, sizes_of(p->c), core::axis_role::token) == 0) return false;
  return std::any_of(p->actual.begin(), p->actual.end(), [](const auto& out) { return out.second.size() > 0; });
}

// The sizes of an axis; empty if some case has no such axis.
sizes_seen sizes_along(const std::string& axis, const probes_seen& probes) {
  sizes_seen all;
  for (const probe* p : probes) {
    const core::axis_sizes sizes = sizes_of(p->c);
    const auto it = sizes.find(axis);
    if (it == sizes.end()) return {};
    all.insert(it->second);
  }
  return all;
}

// A rule, and the sizes at which it says that everything is wrong or right.
struct size_rule {
  std::string words;
  sizes_seen wrong_sizes, right_sizes;
};

std::optional<size_rule> by_multiples(const sizes_seen& wrong, const sizes_seen& right) {
  for (std::size_t block = 2; block <= 256; block *= 2) {
    const auto multiple = [block](std::size_t n) { return n % block == 0; };
    const auto all = [&](const sizes_seen& sizes) { return std::all_of(sizes.begin(), sizes.end(), multiple); };
    const auto none = [&](const sizes_seen& sizes) { return std::none_of(sizes.begin(), sizes.end(), multiple); };
    const sizes_seen multiples{2 * block, 3 * block}, others{2 * block + 1, 4 * block - 1};
    if (all(right) && none(wrong))
      return size_rule{block == 2 ? " for odd lengths" : fmt::format(" where the length is no multiple of {}", block),
                       others, multiples};
    if (all(wrong) && none(right))
      return size_rule{block == 2 ? " for even lengths" : fmt::format(" where the length is a multiple of {}", block),
                       multiples, others};
  }
  return std::nullopt;
}

// The sizes where wrong and right part. Sizes between the two were not tried: only neighbours make a rule.
std::string apart(const sizes_seen& wrong, std::size_t first, std::size_t right, const char* form) {
  const char* others = wrong.size() > 1 ? (first > right ? " and more" : " and less") : "";
  return fmt::format(fmt::runtime(form), first, others, right);
}

std::string words_of_tokens(const sizes_seen& wrong, std::size_t size, std::size_t right) {
  if (size > right + 1 || size + 1 < right) return apart(wrong, size, right, " at {} tokens{}, not at {}");
  if (size > right) return size == 2 ? " when there is more than one token" : fmt::format(" from {} tokens on", size);
  if (size == 1) return " for a single token";
  return right == 1 ? " where there are no tokens" : fmt::format(" for fewer than {} tokens", right);
}

std::string words_of_axis(const std::string& axis, const sizes_seen& wrong, std::size_t size, std::size_t right) {
  const std::string form = " where " + axis + " is {}{}, not where it is {}";
  if (size > right + 1 || size + 1 < right) return apart(wrong, size, right, form.c_str());
  if (size == 0) return fmt::format(" where {} = 0", axis);
  return size > right ? fmt::format(" where {} is more than {}", axis, right)
                      : fmt::format(" where {} is less than {}", axis, right);
}

// A rule by one axis: all its wrong sizes lie on one side of all right sizes, and a change of this size alone makes
// wrong cases right and right cases wrong.
std::optional<std::string> by_axis(const std::string& axis, const probes_seen& wrong, const probes_seen& right,
                                   size_experiments& again) {
  const bool tokens = axis == core::axis_with(*wrong.front()->c.call.operation, core::axis_role::token);
  sizes_seen wrong_sizes = sizes_along(axis, wrong), right_sizes = sizes_along(axis, right);
  if (wrong_sizes.empty() || right_sizes.empty()) return std::nullopt;
  const bool above = *wrong_sizes.begin() > *right_sizes.rbegin();
  if (above || *wrong_sizes.rbegin() < *right_sizes.begin()) {
    const std::size_t wrong_size = above ? *wrong_sizes.begin() : *wrong_sizes.rbegin(),
                      right_size = above ? *right_sizes.rbegin() : *right_sizes.begin();
    if (!again.confirm(axis, wrong, {wrong_size}, right, {right_size})) return std::nullopt;
    const auto [last_right, first_wrong] = again.boundary(*wrong.front(), axis, right_size, wrong_size);
    for (const probe* p : {wrong.front(), wrong[wrong.size() / 2]})
      if (!stands_alone(*p, axis, last_right, first_wrong, again)) return std::nullopt;
    for (const probe* p : one_of_each_choice(wrong))
      if (again.is_right(*p, {{axis, first_wrong}}) == true) return std::nullopt;
    if (above ? !holds_far_behind(wrong, axis, first_wrong, again)
              : !is_right_far_behind(wrong, axis, last_right, again))
      return std::nullopt;
    wrong_sizes.insert(first_wrong);
    return tokens ? words_of_tokens(wrong_sizes, first_wrong, last_right)
                  : words_of_axis(axis, wrong_sizes, first_wrong, last_right);
  }
  // A rule from two or three lengths would be a guess.
  if (!tokens || wrong_sizes.size() + right_sizes.size() < 4) return std::nullopt;
  const auto rule = by_multiples(wrong_sizes, right_sizes);
  if (!rule || !again.confirm(axis, wrong, rule->wrong_sizes, right, rule->right_sizes) ||
      !stands_alone(*wrong.front(), axis, *rule->right_sizes.begin(), *rule->wrong_sizes.begin(), again))
    return std::nullopt;
  return rule->words;
}

// Whether, with each value for which the rule does not hold, some wrong cases are right and none is wrong, and whether,
// with each value for which it holds, some are wrong. Only cases that are answered count.
bool decides(const value_rule& rule, const probes_seen& wrong, size_experiments& again) {
  constexpr std::size_t most_tried = 5;
  struct outcome {
    bool right = false, wrong = false;
  };
  // Larger calls are tried too: a call with two pairs rotates all of them where two pairs are asked for.
  const auto outcome_with = [&](const core::attributes& values) {
    outcome all;
    for (const probe* p : some_of(wrong, most_tried)) {
      core::axis_sizes larger = sizes_of(p->c);
      for (auto& [axis, size] : larger) size = again.declared(*p, axis).nearest(2 * size + 1);
      for (const core::axis_sizes& sizes : {core::axis_sizes{}, larger})
        if (const auto is = again.is_right(*p, sizes, values, evidence::informative))
          (*is ? all.right : all.wrong) = true;
    }
    return all;
  };
  for (const core::attributes& other : rule.others)
    if (const outcome o = outcome_with(other); o.wrong || !o.right) return false;
  for (const core::attributes& alike : rule.alike)
    if (const outcome o = outcome_with(alike); o.right && !o.wrong) return false;
  return !rule.others.empty();
}

// A rule by settings alone: no right case has the values that all wrong cases have.
std::optional<std::string> by_settings(const std::vector<value_rule>& rules, const probes_seen& wrong,
                                       const probes_seen& right, size_experiments& again) {
  for (const value_rule& rule : rules)
    if (std::none_of(right.begin(), right.end(), [&](const probe* p) { return rule.holds_in(*p); }) &&
        decides(rule, wrong, again))
      return " where " + rule.words;
  return std::nullopt;
}

// A rule by an input of integers other than positions that is not all 0, such as the first key that a row sees.
std::optional<std::string> by_integers(const probes_seen& wrong, const probes_seen& right, size_experiments& again) {
  for (const core::tensor_declaration& d : wrong.front()->c.call.operation->inputs) {
    if (!d.own_type || core::is_floating(*d.own_type) || d.role == core::input_role::position) continue;
    const auto holds = [&](const probe* p) {
      const auto& x = p->c.call.inputs.at(d.name).values.storage();
      return std::any_of(x.begin(), x.end(), [](double v) { return v != 0; });
    };
    if (!std::all_of(wrong.begin(), wrong.end(), holds) || std::any_of(right.begin(), right.end(), holds)) continue;
    const auto some = some_of(wrong, 5);
    const auto is_right_at_0 = [&](const probe* p) {
      return again.is_right(*p, input_domains{{d.name, {0, 0}}}, evidence::informative);
    };
    if (std::none_of(some.begin(), some.end(), [&](const probe* p) { return is_right_at_0(p) == false; }) &&
        std::any_of(some.begin(), some.end(), [&](const probe* p) { return is_right_at_0(p) == true; }))
      return fmt::format(" where {} is not 0", d.name);
  }
  return std::nullopt;
}

// A rule by one value of a setting, or by any value but the usual one, in all wrong cases. With another value these
// cases are right. A second rule parts the wrong cases from the right cases with the same value: "where layout =
// "half_split" and h is more than 8".
std::optional<std::string> by_values(const std::vector<value_rule>& rules, const probes_seen& wrong,
                                     const probes_seen& right, size_experiments& again, evidence counted) {
  for (const value_rule& rule : rules) {
    probes_seen right_where_rule_holds;
    std::copy_if(right.begin(), right.end(), std::back_inserter(right_where_rule_holds),
                 [&](const probe* p) { return rule.holds_in(*p); });
    if (right_where_rule_holds.empty() || right_where_rule_holds.size() == right.size() || !decides(rule, wrong, again))
      continue;
    const auto rest = where(wrong, right_where_rule_holds, again, counted);
    if (!rest || rest->empty()) continue;
    constexpr std::string_view opening = " where ";
    const bool joins = rest->starts_with(opening);
    const char* between = !joins ? "," : rest->find(" and ") == std::string::npos ? " and " : ", ";
    return fmt::format(" where {}{}{}", rule.words, between, joins ? rest->substr(opening.size()) : *rest);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> where(const std::vector<const probe*>& wrong, const std::vector<const probe*>& all_right,
                                 size_experiments& again, evidence counted) {
  probes_seen right;
  std::copy_if(all_right.begin(), all_right.end(), std::back_inserter(right), says_something);
  if (right.empty()) return "";
  const core::operation& op = *wrong.front()->c.call.operation;
  if (auto rule = by_reach(wrong, right, again, counted)) return rule;
  const std::string tokens = core::axis_with(op, core::axis_role::token);
  if (auto rule = by_axis(tokens, wrong, right, again)) return rule;
  const std::vector<value_rule> rules_of_one = rules_of_settings(op, wrong),
                                rules_of_two = rules_of_two_settings(op, wrong);
  for (const std::vector<value_rule>& rules : {rules_of_one, rules_of_two})
    if (auto rule = by_settings(rules, wrong, right, again)) return rule;
  if (auto rule = by_settings(rules_of_bounds(op, wrong, right, again), wrong, right, again)) return rule;
  if (auto rule = by_integers(wrong, right, again)) return rule;
  for (const std::string& axis : core::axis_symbols(op))
    if (axis != tokens)
      if (auto rule = by_axis(axis, wrong, right, again)) return rule;
  for (const std::vector<value_rule>& rules : {rules_of_one, rules_of_two})
    if (auto rule = by_values(rules, wrong, right, again, counted)) return rule;
  return by_several_axes(wrong, right, again);
}

}  // namespace assay::properties
