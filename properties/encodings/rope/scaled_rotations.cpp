// Frequent faults of rotations, besides a wrong base: frequencies are scaled for longer contexts although no request
// asks for it.
#include <fmt/format.h>

#include <cmath>

#include "properties/encodings/rope/longer_contexts.hpp"
#include "properties/faults/call_changes.hpp"
#include "properties/kinds/rotation.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::rope {
namespace {

// A scaling by its operation and settings, and the factor of cosines and sines.
struct frequency_scaling {
  const char* operation;
  core::attributes settings;
  double magnitude = 1.0;
};

std::vector<double> frequencies_of(const frequency_scaling& by, double base, std::size_t pairs) {
  const core::operation& op = *reference::find_operation(by.operation);
  request call{&op, core::dtype::f64, {{"base", core::make_tensor(core::dtype::f64, {1}, {base})}}, by.settings};
  call.attributes["pairs"] = static_cast<std::int64_t>(pairs);
  call.attributes = core::completed(op, call.attributes);
  if (!core::check_request(call)) return {};
  const auto outputs = reference::evaluate(call, reference::accuracy_class::sequential);
  const auto& theta = outputs.at("theta").values.storage();
  return {theta.begin(), theta.end()};
}

core::tensors turned_by(const frequency_scaling& by, const request& requested) {
  request call = requested;
  call.attributes = core::completed(*call.operation, call.attributes);
  core::tensor y = call.inputs.at("x");
  const rotary_case shape(call);
  const std::vector<double> theta = frequencies_of(by, setting_of<double>(call, "base"), shape.layout.all_pairs());
  const bool turns = theta.size() >= shape.layout.pairs;
  const double direction = setting_of<std::string>(call, "direction") == "clockwise" ? -1.0 : 1.0;
  const double step = direction / setting_of<double>(call, "position_scale");
  const double magnitude = by.magnitude * setting_of<double>(call, "magnitude");
  const auto& m = call.inputs.at("position").values.storage();
  if (turns)
    shape.for_pairs([&](std::size_t v, std::size_t t, std::size_t first, std::size_t second) {
      const double angle = m[v / shape.heads] * step * theta[t];
      const double c = magnitude * std::cos(angle), s = magnitude * std::sin(angle);
      double &a = y.values.storage()[first], &b = y.values.storage()[second];
      const double x = a;
      a = core::round_to(y.type, x * c - b * s);
      b = core::round_to(y.type, x * s + b * c);
    });
  return {{"y", std::move(y)}};
}

hypothesis hypothesis_of(const std::string& words, const frequency_scaling& by) {
  return {"turns by the frequencies of " + words, [](const core::operation& op) { return op.name == "rope/rotate"; },
          [by](const request& call) { return turned_by(by, call); }};
}

}  // namespace

std::vector<hypothesis> scaled_rotations() {
  using text = std::string;
  std::vector<hypothesis> all;
  for (const double factor : {2.0, 4.0, 8.0, 16.0, 32.0, 40.0, 64.0}) {
    all.push_back(hypothesis_of(fmt::format("scaling = \"ntk\", factor = {}", factor),
                                {"rope/frequencies", {{"scaling", text("ntk")}, {"factor", factor}}}));
    for (const std::int64_t trained : {2048, 4096, 8192, 16384, 32768, 65536, 131072})
      for (const char* scaling : {"llama3", "yarn"}) {
        const std::string words =
            fmt::format("scaling = \"{}\", factor = {}, trained_length = {}", scaling, factor, trained);
        frequency_scaling by{"rope/extended_frequencies",
                             {{"scaling", text(scaling)}, {"factor", factor}, {"trained_length", trained}}};
        all.push_back(hypothesis_of(words, by));
        if (scaling != text("yarn")) continue;
        by.magnitude = 0.1 * std::log(factor) + 1.0;
        all.push_back(hypothesis_of(words + ", and has its magnitude", by));
      }
  }
  return all;
}

}  // namespace assay::properties::encodings::rope
