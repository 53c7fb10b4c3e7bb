// One lane of a Heinsen scan as its laws see it: s_i = LSE(a_i + s_{i-1}, h_i), i = 1..n.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "properties/laws/measured.hpp"

namespace assay::properties::encodings::heinsen {

/// Whether an operation is the scan or the gated scan of this encoding, or the derivative of that kind.
bool is_heinsen_scan(const core::operation& op, core::derivative kind = core::derivative::none);
/// The name of its decay input: "log_p", or "g" of the gated scan.
const char* decay_name(const core::operation& op);
/// log p of a decay input's value, in double.
double log_decay(const core::operation& op, double x);
/// An input of the decay that leaves the state as it is: log p = 0, or a gate logit with log p above -e^-3000.
double neutral_decay(const core::operation& op);

/// Where the lane lies: batch row and feature, and how its elements are found in [B, n, d] and [B, d].
struct lane_position {
  std::size_t row = 0, feature = 0, tokens = 0, features = 0;
  [[nodiscard]] std::size_t at(std::size_t token) const { return (row * tokens + token) * features + feature; }
  [[nodiscard]] std::size_t state() const { return row * features + feature; }
};
std::vector<lane_position> lanes_of(const test_case& c);

/// Inputs and computed states of a lane. Index 0 of s is s0 and exact; a and h count from 1 as s does, so
/// that s[i] = LSE(a[i] + s[i-1], h[i]).
struct lane_states {
  std::vector<double> a, h, s, allowed;
  [[nodiscard]] std::size_t tokens() const { return s.size() - 1; }
  [[nodiscard]] bool holds_nan() const;
};
lane_states states_of(const test_case& c, const measured_call& call, const lane_position& lane);

/// Runs one forward call and checks every lane without NaN; `check` returns what is wrong with it, else "".
/// Uninformative where there was no such lane of at least one token.
outcome check_lanes_of(implementation& under_test, const test_case& c,
                       const std::function<std::string(const lane_states&)>& check);
/// The same for two calls of the same shape.
outcome check_lane_pairs(
    implementation& under_test, const test_case& c, const test_case& other,
    const std::function<std::string(const lane_states&, const lane_states&, const lane_position&)>& check);

/// The largest term of the log-sum-exp: M_i = max(a_i + M_{i-1}, h_i), M_0 = s0; s_i = -inf exactly where
/// M_i is.
std::vector<double> largest_terms(const lane_states& lane);

}  // namespace assay::properties::encodings::heinsen
