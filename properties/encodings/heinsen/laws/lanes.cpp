#include "properties/encodings/heinsen/laws/lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay::properties::encodings::heinsen {

bool is_heinsen_scan(const core::operation& op, core::derivative kind) {
  const std::string forward = op.forward_name();
  return op.kind() == kind && (forward == "heinsen/scan" || forward == "heinsen/gated_scan");
}

const char* decay_name(const core::operation& op) { return op.input("g") ? "g" : "log_p"; }

double log_decay(const core::operation& op, double x) {
  if (!op.input("g")) return x;
  return x >= 0.0 ? -std::log1p(std::exp(-x)) : x - std::log1p(std::exp(x));
}

double neutral_decay(const core::operation& op) { return op.input("g") ? 3072.0 : 0.0; }

std::vector<lane_position> lanes_of(const test_case& c) {
  const core::axis_sizes sizes = sizes_of(c);
  std::vector<lane_position> all;
  for (std::size_t row = 0; row < sizes.at("B"); ++row)
    for (std::size_t feature = 0; feature < sizes.at("d"); ++feature)
      all.push_back({row, feature, sizes.at("n"), sizes.at("d")});
  return all;
}

bool lane_states::holds_nan() const {
  const auto nan = [](const std::vector<double>& x) {
    return std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
  };
  return nan(a) || nan(h) || std::isnan(s[0]);
}

lane_states states_of(const test_case& c, const measured_call& call, const lane_position& lane) {
  const core::operation& op = *c.call.operation;
  const auto& decay = c.call.inputs.at(decay_name(op)).values.storage();
  const auto& h = c.call.inputs.at("h").values.storage();
  lane_states x{{0.0}, {0.0}, {c.call.inputs.at("s0").values.storage()[lane.state()]}, {0.0}};
  for (std::size_t i = 0; i < lane.tokens; ++i) {
    x.a.push_back(log_decay(op, decay[lane.at(i)]));
    x.h.push_back(h[lane.at(i)]);
    x.s.push_back(call.outputs.at("s").values.storage()[lane.at(i)]);
    x.allowed.push_back(call.allowed.at("s")[lane.at(i)]);
  }
  return x;
}

namespace {

outcome lane_failed(const lane_position& lane, const std::string& wrong, const measured_call& call) {
  return violated(fmt::format("row {} feature {}: {}", lane.row, lane.feature, wrong), {}, call.outputs);
}

}  // namespace

outcome check_lanes_of(implementation& under_test, const test_case& c,
                       const std::function<std::string(const lane_states&)>& check) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  outcome all{status::uninformative};
  for (const lane_position& lane : lanes_of(c)) {
    const lane_states x = states_of(c, *call, lane);
    if (x.holds_nan() || x.tokens() == 0) continue;
    if (const std::string wrong = check(x); !wrong.empty()) return lane_failed(lane, wrong, *call);
    all = {};
  }
  return all;
}

outcome check_lane_pairs(
    implementation& under_test, const test_case& c, const test_case& other,
    const std::function<std::string(const lane_states&, const lane_states&, const lane_position&)>& check) {
  const auto one = measure(under_test, c);
  if (!one) return one.error();
  const auto two = measure(under_test, other);
  if (!two) return two.error();
  outcome all{status::uninformative};
  for (const lane_position& lane : lanes_of(c)) {
    const lane_states x = states_of(c, *one, lane), y = states_of(other, *two, lane);
    if (x.holds_nan() || y.holds_nan() || x.tokens() == 0) continue;
    if (const std::string wrong = check(x, y, lane); !wrong.empty()) return lane_failed(lane, wrong, *two);
    all = {};
  }
  return all;
}

std::vector<double> largest_terms(const lane_states& lane) {
  std::vector<double> m{lane.s[0]};
  for (std::size_t i = 1; i <= lane.tokens(); ++i) m.push_back(std::max(lane.a[i] + m.back(), lane.h[i]));
  return m;
}

}  // namespace assay::properties::encodings::heinsen
