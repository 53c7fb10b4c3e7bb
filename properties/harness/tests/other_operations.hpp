// Operations whose axes and inputs have names that no other operation uses.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reference/core/operation.hpp"

namespace assay::properties::testing {

using core::axis_role, core::input_role, core::integers, core::parameter;

inline const std::map<std::string, axis_role> other_axes{
    {"R", axis_role::batch}, {"g", axis_role::head},  {"t", axis_role::token}, {"s", axis_role::key},
    {"c", axis_role::width}, {"f", axis_role::width}, {"p", axis_role::pairs}, {"a", axis_role::parameter}};

// Rows of features that turn, biases of pairs, attention, a table, frequencies.
inline const std::vector<core::operation>& other_operations() {
  const auto position = [](const char* name, std::vector<std::string> axes) {
    return integers(name, std::move(axes), "", {0.0, 0x1p31}, input_role::position);
  };
  const auto size_of = [](const char* axis) -> core::attribute_declaration {
    return {.name = "size",
            .meaning = "",
            .standard = std::int64_t{4},
            .values = {std::int64_t{4}},
            .low = 1,
            .high = 1e5,
            .axis = axis};
  };
  static const std::vector<core::operation> all{
      {.name = "other/turn",
       .inputs = {{.name = "u", .axes = {"R", "t", "g", "c"}}, position("where", {"R", "t"})},
       .outputs = {{.name = "w", .axes = {"R", "t", "g", "c"}}},
       .grows_with = core::with_position,
       .independent = {"R", "t", "g"},
       .axis_roles = other_axes},
      {.name = "other/bias",
       .inputs = {parameter("slope", {"g"}, ""), position("of_query", {"t"}), position("of_key", {"s"})},
       .outputs = {{.name = "w", .axes = {"g", "t", "s"}}},
       .attributes = {{.name = "masked", .meaning = "", .standard = true, .values = {true, false}}},
       .grows_with = core::with_distance,
       .independent = {"g", "t", "s"},
       .axis_roles = other_axes},
      {.name = "other/attention",
       .inputs = {{.name = "q", .axes = {"R", "g", "t", "c"}},
                  {.name = "k", .axes = {"R", "g", "s", "c"}},
                  {.name = "v", .axes = {"R", "g", "s", "f"}}},
       .outputs = {{.name = "w", .axes = {"R", "g", "t", "f"}}},
       .grows_with = core::with_keys,
       .independent = {"R", "g", "t"},
       .axis_roles = other_axes},
      {.name = "other/table",
       .inputs = {position("where", {"t"})},
       .outputs = {{.name = "w", .axes = {"t", "c"}}},
       .attributes = {size_of("c")},
       .grows_with = core::with_position,
       .independent = {"t"},
       .axis_roles = other_axes},
      {.name = "other/frequencies",
       .inputs = {parameter("base", {"a"}, "")},
       .outputs = {{.name = "w", .axes = {"a", "p"}}},
       .attributes = {size_of("p")},
       .independent = {"a"},
       .axis_roles = other_axes}};
  return all;
}
// Windows of an image, with two axes of tokens and a bias of their places; steps of a decoder, without tokens.
inline const std::vector<core::operation>& operations_of_other_axes() {
  const auto position_input = [](std::vector<std::string> axes) {
    return integers("at", std::move(axes), "", {0.0, 0x1p31}, input_role::position);
  };
  std::map<std::string, axis_role> windows = other_axes;
  windows.insert({{"y", axis_role::token}, {"x", axis_role::token}});
  static const std::vector<core::operation> all{
      {.name = "other/windows",
       .inputs = {{.name = "u", .axes = {"R", "y", "x", "c"}}, parameter("bias", {"y", "x"}, "")},
       .outputs = {{.name = "w", .axes = {"R", "y", "x", "c"}}},
       .grows_with = core::with_tokens,
       .independent = {"R"},
       .axis_roles = windows},
      {.name = "other/step",
       .inputs = {{.name = "q", .axes = {"R", "g", "c"}}, position_input({"R"})},
       .outputs = {{.name = "w", .axes = {"R", "g", "c"}}},
       .grows_with = core::with_position,
       .independent = {"R", "g"},
       .axis_roles = other_axes},
      {.name = "other/step_of_one_row",
       .inputs = {{.name = "q", .axes = {"g", "c"}}, {.name = "k", .axes = {"g", "s", "c"}}, position_input({})},
       .outputs = {{.name = "w", .axes = {"g", "s"}}},
       .grows_with = core::with_position,
       .independent = {"g", "s"},
       .axis_roles = other_axes}};
  return all;
}

}  // namespace assay::properties::testing
