#include "properties/encodings/heinsen/laws/lanes.hpp"

#include <algorithm>
#include <cmath>

namespace assay::properties::encodings::heinsen {

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

lane_inputs::lane_inputs(const test_case& c, const lane_position& lane)
    : a{0.0}, h{0.0}, s0(c.call.inputs.at("s0").values.storage()[lane.state()]), largest{s0} {
  const core::operation& op = *c.call.operation;
  const auto& decay = c.call.inputs.at(decay_name(op)).values.storage();
  for (std::size_t i = 0; i < lane.tokens; ++i) {
    a.push_back(log_decay(op, decay[lane.at(i)]));
    h.push_back(c.call.inputs.at("h").values.storage()[lane.at(i)]);
    largest.push_back(std::max(a.back() + largest.back(), h.back()));
  }
}

bool lane_inputs::holds_nan() const {
  const auto nan = [](double x) { return std::isnan(x); };
  return std::any_of(a.begin(), a.end(), nan) || std::any_of(h.begin(), h.end(), nan) || nan(s0);
}

lane_states::lane_states(const test_case& c, const measured_call& call, const lane_position& lane)
    : lane_inputs(c, lane), s{exactly(s0)} {
  for (std::size_t i = 0; i < lane.tokens; ++i) s.push_back(element(call, "s", lane.at(i)));
}

}  // namespace assay::properties::encodings::heinsen
