// Changes to the calls of rotary operations that several wrong variants make.
#pragma once

#include <cstdint>
#include <string>

#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/rope.hpp"

namespace assay::properties::encodings::rope {

using unchanged_rope = unchanged<reference::encodings::rope>;

/// Replaces every position by edit(row, token), which reads the positions that were given.
template <class Edit>
void edit_positions(request& call, Edit edit) {
  const auto it = call.inputs.find("position");
  if (it == call.inputs.end()) return;
  const core::tensor given = it->second;
  const std::size_t tokens = given.shape()[1];
  for (std::size_t k = 0; k < given.size(); ++k)
    it->second.values.storage()[k] =
        edit([&](std::size_t row, std::size_t token) { return given.values.storage()[row * tokens + token]; },
             k / tokens, k % tokens);
}

/// Replaces every position by edit(position).
template <class Edit>
void edit_each_position(request& call, Edit edit) {
  edit_positions(call, [&](auto given, std::size_t row, std::size_t token) { return edit(given(row, token)); });
}

/// Replaces a setting, where the operation has it, by edit(value).
template <class T, class Edit>
void edit_setting(request& call, const char* name, Edit edit) {
  if (call.operation->attribute(name) == nullptr) return;
  call.attributes = core::completed(*call.operation, call.attributes);
  call.attributes[name] = edit(core::setting<T>(call.attributes, name));
}

/// Pairs that rotate in a call of rope/rotate or rope/rotate_by.
inline std::size_t pairs_of(const request& call) {
  if (const auto theta = call.inputs.find("theta"); theta != call.inputs.end()) return theta->second.size();
  const core::attributes settings = core::completed(*call.operation, call.attributes);
  return reference::encodings::rope::pairs_of(call.inputs.at("x").shape()[3],
                                              core::setting<std::int64_t>(settings, "rotary"));
}

}  // namespace assay::properties::encodings::rope
