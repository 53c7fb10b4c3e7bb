// The sizes that a quick run must have, by the roles of axes: kernels fail where two of these meet.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "properties/harness/choices.hpp"
#include "properties/harness/runner.hpp"

namespace assay::properties::testing {

/// The size from which an axis is large: more than one block of a kernel, or one thread, usually takes. Nothing for a
/// number of parameters that is a setting.
inline std::optional<std::size_t> large(const core::operation& op, const std::string& axis) {
  using core::axis_role;
  static const std::map<axis_role, std::size_t> from{
      {axis_role::batch, 5},  {axis_role::head, 9},   {axis_role::token, 65},   {axis_role::key, 129},
      {axis_role::width, 65}, {axis_role::pairs, 33}, {axis_role::parameter, 3}};
  const axis_role role = core::role_of(op, axis);
  if (role == axis_role::parameter && core::attribute_of_axis(op, axis) != nullptr) return std::nullopt;
  return from.at(role);
}

/// Whether blocks of kernels divide the axis: two rows, heads or bases, 32 pairs, 64 of anything else.
inline bool is_whole(const core::operation& op, const std::string& axis, std::size_t size) {
  using core::axis_role;
  const axis_role role = core::role_of(op, axis);
  const bool has_rows = role == axis_role::batch || role == axis_role::head || role == axis_role::parameter;
  return size > 1 && size % (has_rows ? 2 : role == axis_role::pairs ? 32 : 64) == 0;
}

struct planned_case {
  std::string family;
  core::axis_sizes axes;
  core::attributes settings;
};

/// The cases of a quick run whose sizes are given.
inline std::vector<planned_case> quick_cases(const core::operation& op, const std::string& property,
                                             std::uint64_t run_seed) {
  run_options options;
  options.seed = run_seed;
  options.sizes = run_options::usual::some;
  std::vector<planned_case> all;
  for (const case_key& key : plan_of(*find_property(property), description{}, op, core::dtype::f32, options))
    if (key.size.is_given()) {
      // Where key and settings give every size, the inputs, which would be large, are not drawn.
      const core::attributes settings = settings_of(key);
      core::axis_sizes sizes = key.size.axes;
      for (const core::attribute_declaration& a : op.attributes)
        if (!a.axis.empty()) sizes[a.axis] = static_cast<std::size_t>(core::setting<std::int64_t>(settings, a.name));
      const bool all_given = sizes.size() == core::axis_symbols(op).size();
      if (all_given && (op.conflict == nullptr || op.conflict(settings, sizes).empty())) {
        all.push_back({key.family, sizes, settings});
      } else {
        const test_case c = make_case(key);
        all.push_back({key.family, sizes_of(c), c.call.attributes});
      }
    }
  return all;
}

/// The demands that no case meets: every pair of large axes; every large axis with every family, with every value of
/// every choice, and with integers at their standard value and at another; more than two blocks of 64 tokens and of
/// keys in several rows and heads; a last block that lacks one element; the usual widths of heads over more than a
/// block; and all axes in whole blocks.
inline std::string not_reached(const core::operation& op, const std::string& property, std::uint64_t run_seed) {
  using core::axis_role;
  std::vector<std::string> axes;
  for (const std::string& symbol : core::axis_symbols(op))
    if (large(op, symbol)) axes.push_back(symbol);
  const std::vector<planned_case> cases = quick_cases(op, property, run_seed);
  const auto is_large = [&](const planned_case& c, const std::string& axis) {
    const auto size = c.axes.find(axis);
    return size != c.axes.end() && size->second >= *large(op, axis);
  };
  const auto reached = [&](const auto& holds) { return std::any_of(cases.begin(), cases.end(), holds); };
  std::string missing;
  for (const std::string& a : axes) {
    for (const std::string& b : axes)
      if (a <= b && !reached([&](const planned_case& c) { return is_large(c, a) && is_large(c, b); }))
        missing += fmt::format("{}: {} with {}; ", op.name, a, b);
    for (const family& f : families_of(op))
      if (!reached([&](const planned_case& c) { return is_large(c, a) && c.family == f.name; }))
        missing += fmt::format("{}: {} with {}; ", op.name, a, f.name);
    for (const core::attribute_declaration& choice : op.attributes)
      for (const core::attribute& value : choice.values)
        if (is_choice(choice) && !reached([&](const planned_case& c) {
              const auto set = c.settings.find(choice.name);
              return is_large(c, a) && set != c.settings.end() && set->second == value;
            }))
          missing += fmt::format("{}: {} with {} = {}; ", op.name, a, choice.name, core::to_string(value));
    for (const core::attribute_declaration& integer : op.attributes)
      for (const bool standard : {true, false})
        if (is_integer(integer) && !reached([&](const planned_case& c) {
              return is_large(c, a) && (c.settings.at(integer.name) == integer.standard) == standard;
            }))
          missing += fmt::format("{}: {} with {} {}; ", op.name, a, integer.name, standard ? "as usual" : "set");
  }
  const auto all_of = [&](const planned_case& c, const auto& holds) {
    return std::all_of(c.axes.begin(), c.axes.end(),
                       [&](const auto& axis) { return holds(core::role_of(op, axis.first), axis.second); });
  };
  // A wrong index of a row or a head shows only if there are several rows and heads.
  const auto has_several_rows = [&](const planned_case& c) {
    return all_of(c, [](axis_role role, std::size_t size) {
      return (role != axis_role::batch && role != axis_role::head) || size > 1;
    });
  };
  const std::string keys = core::axis_with(op, axis_role::key), tokens = core::axis_with(op, axis_role::token);
  for (const std::string& along : {tokens, keys}) {
    if (along.empty()) continue;
    if (!reached([&](const planned_case& c) { return c.axes.at(along) >= 129 && has_several_rows(c); }))
      missing += fmt::format("{}: {} of several rows; ", op.name, along);
    if (!reached([&](const planned_case& c) { return c.axes.at(along) % 64 == 63; }))
      missing += fmt::format("{}: a last block of {} that is nearly full; ", op.name, along);
  }
  const std::string longest = keys.empty() ? tokens : keys;
  for (const std::size_t width : {64, 128})
    if (!longest.empty() && !core::axis_with(op, axis_role::width).empty() &&
        !core::axis_with(op, axis_role::head).empty() && !reached([&](const planned_case& c) {
          return c.axes.at(longest) > 64 &&
                 all_of(c, [&](axis_role role, std::size_t size) { return role != axis_role::width || size == width; });
        }))
      missing += fmt::format("{}: width {} over more than a block; ", op.name, width);
  if (axes.size() > 1 && !reached([&](const planned_case& c) {
        return std::all_of(axes.begin(), axes.end(), [&](const std::string& axis) {
          const auto size = c.axes.find(axis);
          return size != c.axes.end() && is_whole(op, axis, size->second);
        });
      }))
    missing += op.name + ": whole blocks; ";
  return missing;
}

}  // namespace assay::properties::testing
