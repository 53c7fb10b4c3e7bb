// What laws of linear biases share: their cases, and of which operation and families they speak.
#pragma once

#include "properties/laws/relations/relations.hpp"

namespace assay::properties::encodings::alibi {

inline const auto& query_positions(const test_case& c) { return c.call.inputs.at("query_position").values.storage(); }
inline const auto& key_positions(const test_case& c) { return c.call.inputs.at("key_position").values.storage(); }

/// The case with the given tokens as queries and keys.
inline test_case among(const test_case& c, const std::vector<double>& tokens) {
  test_case other = c;
  for (const char* name : {"query_position", "key_position"})
    other.call.inputs.at(name) = core::make_tensor(core::dtype::i64, {tokens.size()}, tokens);
  return other;
}

/// The case in another form, with or without the causal mask.
inline test_case in_form(const test_case& c, std::string form, bool causal) {
  return with_settings(c, {{"form", std::move(form)}, {"causal", causal}});
}
/// A form that is not `distance`.
inline std::string other_form(const test_case& c) {
  const auto& drawn = setting<std::string>(c, "form");
  return drawn == "distance" ? "key" : drawn;
}

/// Linear biases, or their gradient, over the families that hold neither NaN nor numbers at the ends of their range.
inline law_scope of(const char* operation) {
  return {{operation}, {"mild", "powers_of_two", "far_window", "scattered", "either_sign"}};
}

}  // namespace assay::properties::encodings::alibi
