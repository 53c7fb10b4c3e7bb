#include "properties/diagnosis/unanswered.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "properties/diagnosis/size_condition.hpp"
#include "properties/harness/runner.hpp"

namespace assay::properties {
namespace {

constexpr std::size_t farthest_size = 256;

// Other sizes, all different: the second width is larger than the first.
core::axis_sizes sizes_elsewhere(const core::operation& op, core::axis_sizes sizes) {
  using core::axis_role;
  std::size_t more = 0;
  for (auto [axis, size] : core::sizes_by_role(op, {{axis_role::batch, 2},
                                                    {axis_role::token, 9},
                                                    {axis_role::key, 11},
                                                    {axis_role::head, 6},
                                                    {axis_role::width, 66},
                                                    {axis_role::pairs, 33}})) {
    if (core::role_of(op, axis) == axis_role::width) size += std::exchange(more, more + 4);
    sizes[axis] = size;
  }
  return sizes;
}

class questions {
 public:
  questions(implementation& under_test, const test_case& example, std::uint64_t seed)
      : under_test_(under_test), example_(example), seed_(seed) {}

  /// Whether a mild call of these sizes is answered. Nothing if it cannot be made, or if it ends in another way.
  std::optional<bool> are_answered(const core::axis_sizes& sizes) {
    const core::operation& op = *example_.call.operation;
    core::attributes settings = core::completed(op, example_.call.attributes);
    case_key key{&op, example_.call.type, mild_family_of(op).name, seed_, extent(sizes)};
    for (const core::attribute_declaration& a : op.attributes) {
      if (const auto size = sizes.find(a.axis); size != sizes.end() && !a.axis.empty())
        settings[a.name] = static_cast<std::int64_t>(size->second);
      key.settings[a.name] = {settings.at(a.name)};
    }
    if (!core::check_attributes(op, settings) || (op.conflict && !op.conflict(settings, sizes).empty()))
      return std::nullopt;
    const test_case c = make_case(key);
    if (sizes_of(c) != sizes || !within_domain(under_test_.describe(), c)) return std::nullopt;
    const call_result outputs = under_test_.evaluate(c.call);
    if (!outputs && outputs.error().kind != fault::error_reply) return std::nullopt;
    return outputs.has_value();
  }

 private:
  implementation& under_test_;
  const test_case& example_;
  std::uint64_t seed_;
};

core::axis_sizes with(core::axis_sizes sizes, const core::axis_sizes& changed) {
  for (const auto& [axis, size] : changed) sizes[axis] = size;
  return sizes;
}

using conditions = std::vector<size_condition>;

// The nearest size at which calls are answered, larger or smaller: found by doubling or halving, then between.
std::optional<size_condition> bound_along(questions& ask, const core::axis_sizes& sizes, const std::string& axis,
                                          bool larger) {
  const auto is_answered = [&](std::size_t size) { return ask.are_answered(with(sizes, {{axis, size}})); };
  const std::size_t failed = sizes.at(axis);
  std::size_t wrong = failed, right = 0;
  for (std::size_t size = larger ? 2 * failed : failed / 2;
       right == 0 && size > 0 && size <= std::max(farthest_size, failed); size = larger ? 2 * size : size / 2) {
    const auto is = is_answered(size);
    if (!is) return std::nullopt;
    (*is ? right : wrong) = size;
  }
  if (right == 0) return std::nullopt;
  while (std::max(right, wrong) - std::min(right, wrong) > 1) {
    const std::size_t middle = (right + wrong) / 2;
    const auto is = is_answered(middle);
    if (!is) return std::nullopt;
    (*is ? right : wrong) = middle;
  }
  return size_condition{.is = larger ? size_form::less : size_form::more, .axis = axis, .bound = right};
}

// The conditions that may hold for an axis: a bound, two bounds, or the remainder of a division.
std::vector<conditions> conditions_on(questions& ask, const core::axis_sizes& sizes, const std::string& axis) {
  const std::size_t size = sizes.at(axis);
  const auto above = bound_along(ask, sizes, axis, true), below = bound_along(ask, sizes, axis, false);
  std::vector<conditions> all;
  if (above) all.push_back({*above});
  if (below) all.push_back({*below});
  if (above && below) all.push_back({*below, *above});
  if (size % 2 == 1) all.push_back({{.is = size_form::multiple_plus, .axis = axis, .period = 2, .rest = 1}});
  for (std::size_t period = 4; period <= 64; period *= 2)
    if (size % period != 0) all.push_back({{.is = size_form::no_multiple, .axis = axis, .period = period}});
  return all;
}

// The comparisons of two axes that may hold where calls are not answered: relations that a domain may declare.
std::vector<size_condition> comparisons_of(const core::axis_sizes& sizes) {
  std::vector<size_condition> all;
  for (const auto& [axis, size] : sizes)
    for (const auto& [other, other_size] : sizes) {
      if (axis == other) continue;
      const auto add = [&](size_form is, std::size_t times) {
        const std::size_t middle = std::max<std::size_t>({size / times, other_size, 3});
        all.push_back({.is = is, .axis = axis, .other = other, .middle = middle, .times = times});
      };
      add(size_form::smaller, 1);
      if (axis < other) add(size_form::unequal, 1);
      add(size_form::unequal, 2);
    }
  std::erase_if(all, [&](const size_condition& c) { return !c.holds(sizes); });
  return all;
}

bool hold_everywhere(questions& ask, const conditions& all, const std::vector<core::axis_sizes>& others) {
  bool unanswered = false, answered = false;
  for (const core::axis_sizes& sizes : others)
    for (const size_condition& condition : all)
      for (const core::axis_sizes& sample : condition.samples()) {
        const core::axis_sizes now = with(sizes, sample);
        const auto is = ask.are_answered(now);
        if (!is) continue;
        const bool hold = std::all_of(all.begin(), all.end(), [&](const auto& one) { return one.holds(now); });
        if (*is == hold) return false;
        (*is ? answered : unanswered) = true;
      }
  return unanswered && answered;
}

}  // namespace

std::optional<std::string> where_unanswered(implementation& under_test, const test_case& c, std::uint64_t seed) {
  const call_result outputs = under_test.evaluate(c.call);
  if (outputs || outputs.error().kind != fault::error_reply) return std::nullopt;
  questions ask(under_test, c, seed);
  const core::axis_sizes sizes = sizes_of(c);
  if (ask.are_answered(sizes) != false) return std::nullopt;  // the values of the case matter, or its family
  const std::vector<core::axis_sizes> others{sizes, sizes_elsewhere(*c.call.operation, sizes)};
  for (const auto& [axis, size] : sizes)
    for (const conditions& all : conditions_on(ask, sizes, axis))
      if (hold_everywhere(ask, all, others)) return words_of(all);
  for (const size_condition& comparison : comparisons_of(sizes))
    if (hold_everywhere(ask, {comparison}, others)) return words_of({comparison}) + relation_in_words({comparison});
  return std::nullopt;
}

}  // namespace assay::properties
