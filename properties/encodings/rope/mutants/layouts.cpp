// Wrong pairs of coordinates.
#include <cmath>

#include "properties/encodings/rope/mutants/mutants.hpp"

namespace assay::properties::encodings::rope {
namespace {

// Pairs that rotate in a call of rope/rotate or rope/rotate_by.
std::size_t pairs_of(const request& call) {
  if (const auto theta = call.inputs.find("theta"); theta != call.inputs.end()) return theta->second.size();
  return reference::encodings::rope::pairs_of(call.inputs.at("x").shape()[3], setting_of<std::int64_t>(call, "rotary"));
}

void clear_the_rest(core::tensors& outputs, const request& call) {
  if (!call.inputs.contains("x")) return;
  core::tensor& t = outputs.at(call.operation->is_vjp() ? "grad_x" : "y");
  const std::size_t features = t.shape()[3], rotated = 2 * pairs_of(call);
  for (std::size_t k = 0; k < t.size(); ++k)
    if (k % features >= rotated) t.values.storage()[k] = 0.0;
}

// Which coordinate of a head stands in the place k.
using coordinate_order = std::size_t (*)(std::size_t k, std::size_t pairs, std::size_t features);

std::vector<std::size_t> all_in_order(const request& call, coordinate_order at) {
  const std::size_t pairs = pairs_of(call);
  std::vector<std::size_t> order(call.inputs.at("x").shape()[3]);
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = at(k, pairs, order.size());
  return order;
}
void take_coordinates(core::tensors& all, const char* name, const std::vector<std::size_t>& order) {
  if (const auto t = all.find(name); t != all.end()) t->second = core::take(t->second, 3, order);
}
// Coordinate k of what is rotated is coordinate at(k, ...) of what is given, and goes back there: where the layout is
// that one, or in both.
variation<reference::encodings::rope> reordered(coordinate_order at, std::string_view layout = "") {
  const auto concerns = [layout](const request& call) {
    return call.inputs.contains("x") && (layout.empty() || setting_of<std::string>(call, "layout") == layout);
  };
  return {.inputs =
              [=](request& call) {
                if (!concerns(call)) return;
                const std::vector<std::size_t> order = all_in_order(call, at);
                for (const char* name : {"x", "grad_y"}) take_coordinates(call.inputs, name, order);
              },
          .outputs =
              [=](core::tensors& outputs, const request& call) {
                if (!concerns(call)) return;
                const std::vector<std::size_t> order = all_in_order(call, at);
                std::vector<std::size_t> back(order.size());
                for (std::size_t k = 0; k < order.size(); ++k) back[order[k]] = k;
                for (const char* name : {"y", "grad_x"}) take_coordinates(outputs, name, back);
              }};
}

// Partners half a head apart, frequencies in the order of neighbours: theta_0, theta_0, theta_1, theta_1, ...
void order_frequencies_as_neighbours(core::tensors& outputs, const request& call) {
  if (call.operation->name != "rope/rotate_by" || setting_of<std::string>(call, "layout") != "half_split") return;
  const auto &x = call.inputs.at("x").values.storage(), &theta = call.inputs.at("theta").values.storage(),
             &m = call.inputs.at("position").values.storage();
  core::tensor& y = outputs.at("y");
  const std::size_t heads = y.shape()[2], features = y.shape()[3], pairs = theta.size();
  for (std::size_t k = 0; k < y.size(); ++k) {
    const std::size_t c = k % features;
    if (c >= 2 * pairs) continue;
    const double angle = m[k / features / heads] * theta[c / 2];
    const double partner = c < pairs ? -x[k + pairs] : x[k - pairs];
    y.values.storage()[k] = core::round_to(y.type, x[k] * std::cos(angle) + partner * std::sin(angle));
  }
}

// As a kernel does that has (d + 1) / 2 pairs.
void turn_beyond_the_head(core::tensors& outputs, const request& call) {
  if (call.operation->name != "rope/rotate") return;
  core::tensor& y = outputs.at("y");
  const std::size_t heads = y.shape()[2], features = y.shape()[3];
  if (features % 2 == 0 || pairs_of(call) != features / 2) return;
  const double theta = std::pow(setting_of<double>(call, "base"), 1.0 / static_cast<double>(features) - 1.0) /
                       setting_of<double>(call, "position_scale");
  auto& values = y.values.storage();
  for (std::size_t v = 0; (v + 1) * features < values.size(); ++v) {
    const double angle = call.inputs.at("position").values.storage()[v / heads] * theta;
    double &last = values[(v + 1) * features - 1], &next = values[(v + 1) * features];
    const double before = last;
    last = core::round_to(y.type, before * std::cos(angle) - next * std::sin(angle));
    next = core::round_to(y.type, before * std::sin(angle) + next * std::cos(angle));
  }
}

}  // namespace

std::vector<variant> layout_mutants() {
  return {
      changed_rope("mutant/rope_wrong_layout", "RP02 huggingface/candle#3948", "the other layout",
                   {.inputs =
                        [](request& call) {
                          change_setting<std::string>(call, "layout", [](const std::string& layout) {
                            return layout == "half_split" ? "interleaved" : "half_split";
                          });
                        },
                    .telling = true}),
      changed_rope("mutant/rope_layout_ignored", "RP03 vllm-project/vllm-ascend#12820",
                   "half-split whatever the layout",
                   {.inputs = [](request& call) { set_setting<std::string>(call, "layout", "half_split"); }}),
      changed_rope("mutant/rope_rest_is_zero", "RP07 fla-org/flash-linear-attention#1177",
                   "coordinates that do not rotate become 0", {.outputs = clear_the_rest, .telling = true}),
      changed_rope("mutant/rope_rotary_ignored", "AI-Hypercomputer/maxtext#4616", "all pairs rotate where some should",
                   {.inputs = [](request& call) { set_setting<std::int64_t>(call, "rotary", 0); }}),
      changed_rope("mutant/rope_at_end_of_head", "pie-project/pie#603: rope_partial_last beside rope_partial",
                   "the last coordinates rotate instead of the first",
                   reordered([](std::size_t k, std::size_t pairs, std::size_t features) {
                     return (k + features - 2 * pairs) % features;
                   })),
      changed_rope("mutant/rope_outside_in", "a layout of no implementation: halves, one of them flipped",
                   "coordinate t is a pair with 2r - 1 - t where halves are asked for",
                   reordered([](std::size_t k, std::size_t pairs,
                                std::size_t) { return k < pairs || k >= 2 * pairs ? k : 3 * pairs - 1 - k; },
                             "half_split")),
      // The partner of t is t + floor(d/2), however many pairs rotate.
      changed_rope("mutant/rope_pairs_of_whole_head", "pie-project/pie#602",
                   "coordinate t is a pair with t + d/2, though fewer rotate",
                   reordered(
                       [](std::size_t k, std::size_t pairs, std::size_t features) {
                         const std::size_t half = features / 2;
                         if (k < pairs) return k;
                         if (k < 2 * pairs) return half + k - pairs;
                         return k < half + pairs ? k - pairs : k;
                       },
                       "half_split")),
      changed_rope("mutant/rope_frequencies_of_neighbours", "raiyanyahya/how-to-train-your-gpt#6",
                   "halves are paired, and frequencies in the order of neighbours",
                   {.outputs = order_frequencies_as_neighbours}),
      changed_rope("mutant/rope_beyond_the_head", "RP07 fla-org/flash-linear-attention#1177",
                   "of an odd d the last coordinate rotates with the first one of the next head",
                   {.outputs = turn_beyond_the_head}),
  };
}

}  // namespace assay::properties::encodings::rope
