// One lane of a Heinsen scan as its laws use it: s_i = LSE(a_i + s_{i-1}, h_i), i = 1..n.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "properties/laws/relations/relations.hpp"

namespace assay::properties::encodings::heinsen {

/// The scopes of the scan and the gated scan, of their gradients, and of both.
inline law_scope scans() { return {{"heinsen/scan", "heinsen/gated_scan"}}; }
inline law_scope gradients_of_scans() { return {{"heinsen/scan:vjp", "heinsen/gated_scan:vjp"}}; }
inline law_scope scans_and_gradients() {
  return {{"heinsen/scan", "heinsen/gated_scan", "heinsen/scan:vjp", "heinsen/gated_scan:vjp"}};
}

/// The name of the decay input: "log_p", or "g" for the gated scan.
const char* decay_name(const core::operation& op);
/// log p in double, from a value of the decay input.
double log_decay(const core::operation& op, double x);
/// A decay input that leaves the state unchanged: log p = 0, or a gate logit with log p above -e^-3000.
double neutral_decay(const core::operation& op);

/// States are logarithms, so errors are compared with 1.
constexpr double scale_of_states = 1.0;

/// The place of a lane: its batch row and feature, and the indices of its elements in [B, n, d] and [B, d].
struct lane_position {
  std::size_t row = 0, feature = 0, tokens = 0, features = 0;
  [[nodiscard]] std::size_t at(std::size_t token) const { return (row * tokens + token) * features + feature; }
  [[nodiscard]] std::size_t state() const { return row * features + feature; }
};
std::vector<lane_position> lanes_of(const test_case& c);

/// Calls says(lane) for every lane that has a token; a failure names the lane.
template <class Says>
void for_lanes(experiment& e, const test_case& c, Says says) {
  for (const lane_position& lane : lanes_of(c))
    if (lane.tokens > 0) e.during(fmt::format("row {} feature {}", lane.row, lane.feature), [&] { says(lane); });
}

/// The inputs of a lane. Index 0 stands for the state before the first token, so that s[i] = LSE(a[i] + s[i-1], h[i]).
struct lane_inputs {
  lane_inputs(const test_case& c, const lane_position& lane);
  [[nodiscard]] std::size_t tokens() const { return h.size() - 1; }
  [[nodiscard]] bool holds_nan() const;
  std::vector<double> a, h;
  double s0;
  /// The largest term of the log-sum-exp: M_i = max(a_i + M_{i-1}, h_i), M_0 = s0. s_i is -inf exactly if M_i is.
  std::vector<double> largest;
};

/// A lane with the computed states; s[0] is s0 and exact.
struct lane_states : lane_inputs {
  lane_states(const test_case& c, const measured_call& call, const lane_position& lane);
  std::vector<approximate> s;
};

/// Calls `says` for the states of every lane without NaN, in one case or in several of the same shape.
template <class Says, class... Cases>
void for_states(experiment& e, Says says, const Cases&... cases) {
  const std::vector<std::pair<const test_case&, const measured_call&>> calls{{cases, e.call(cases)}...};
  for_lanes(e, calls.front().first, [&](const lane_position& lane) {
    std::vector<lane_states> states;
    for (const auto& [c, call] : calls) states.emplace_back(c, call, lane);
    for (const lane_states& x : states)
      if (x.holds_nan()) return;
    says(states);
  });
}

}  // namespace assay::properties::encodings::heinsen
