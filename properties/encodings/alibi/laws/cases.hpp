// What laws of linear biases share: which of their cases say something, and how a law of one operation is written.
#pragma once

#include "properties/laws/compared_calls.hpp"
#include "properties/laws/settings.hpp"

namespace assay::properties::encodings::alibi {

/// No input of the case is empty.
inline bool has_pairs(const test_case& c) {
  for (const auto& [name, t] : c.call.inputs)
    if (t.size() == 0) return false;
  return true;
}

inline const auto& query_positions(const test_case& c) { return c.call.inputs.at("query_position").values.storage(); }
inline const auto& key_positions(const test_case& c) { return c.call.inputs.at("key_position").values.storage(); }

/// The case in another form, with or without the causal mask.
inline test_case in_form(const test_case& c, std::string form, bool causal) {
  return with_setting(with_setting(c, "form", std::move(form)), "causal", causal);
}

/// A law of linear biases over the families that hold neither NaN nor numbers at the ends of their range.
inline property law_of(const char* name, const char* summary, outcome (*check)(implementation&, const test_case&),
                       const char* operation, std::size_t calls) {
  property p{name, summary, [operation](const core::operation& op) { return op.name == operation; }, check};
  p.calls = calls;
  p.families = {"mild", "powers_of_two", "far_window", "scattered", "either_sign"};
  return p;
}

}  // namespace assay::properties::encodings::alibi
