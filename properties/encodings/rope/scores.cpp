// Conventions of rotations, and their scores: faults of public reports, and right code.
#include <cmath>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/rotation_faults.hpp"
#include "reference/encodings/rope.hpp"

namespace assay::properties::encodings::rope {
namespace {

using encoding = reference::encodings::rope;
inline constexpr auto& other_rope = make_variant<encoding>;

bool has(const request& call, const char* setting) { return call.operation->attribute(setting) != nullptr; }

void cut_positions(request& call) {
  if (!has(call, "position_scale")) return;
  const auto scale = setting_of<double>(call, "position_scale");
  for (const core::tensor_declaration& d : call.operation->inputs)
    if (d.role == core::input_role::position)
      change_each(call.inputs, d.name, [scale](double m) { return std::floor(m / scale); });
  set_setting(call, "position_scale", 1.0);
}
void keep_short_keys(request& call) {
  if (!call.inputs.contains("key_position")) return;
  change_each(call.inputs, "key_position",
              [scale = setting_of<double>(call, "position_scale")](double m) { return m * scale; });
}
void leave_neighbours_unscaled(request& call) {
  if (has(call, "layout") && setting_of<std::string>(call, "layout") == "interleaved")
    set_setting(call, "magnitude", 1.0);
}

// The order of the heads of q, or its inverse, in which those that use one head of k follow one another, although head
// i of q uses head i mod g of k.
std::vector<std::size_t> tiled(const request& call, bool back) {
  const std::size_t heads = call.inputs.at("q").shape()[2], groups = call.inputs.at("k").shape()[2];
  std::vector<std::size_t> order(heads);
  for (std::size_t i = 0; i < heads; ++i) {
    const std::size_t in_group = i % groups * (heads / groups) + i / groups;
    order[back ? i : in_group] = back ? in_group : i;
  }
  return order;
}
void tile_heads(request& call) {
  if (!call.inputs.contains("q")) return;
  const std::vector<std::size_t> order = tiled(call, false);
  for (const auto& [name, axis] : {std::pair{"q", std::size_t{2}}, {"grad_s", std::size_t{1}}})
    if (const auto t = call.inputs.find(name); t != call.inputs.end()) t->second = core::take(t->second, axis, order);
}
void untile_heads(core::tensors& outputs, const request& call) {
  if (!call.inputs.contains("q")) return;
  const std::vector<std::size_t> order = tiled(call, true);
  for (const auto& [name, axis] : {std::pair{"grad_q", std::size_t{2}}, {"s", std::size_t{1}}})
    if (const auto t = outputs.find(name); t != outputs.end()) t->second = core::take(t->second, axis, order);
}

// q . R_{j-i} k in place of R_i q . R_j k: one rotation for each pair of tokens.
void turn_by_difference(core::tensors& outputs, const request& call) {
  if (call.operation->name != "rope/scores") return;
  const core::attributes settings = core::completed(*call.operation, call.attributes);
  core::tensor& s = outputs.at("s");
  const core::tensor &q = call.inputs.at("q"), &k = call.inputs.at("k"),
                     &query_position = call.inputs.at("query_position"), &key_position = call.inputs.at("key_position");
  const std::size_t d = q.shape()[3];
  const reference::rotary_layout layout(settings, d, reference::turning_pairs(d, settings));
  const auto magnitude = setting_of<double>(call, "magnitude");
  const auto group = static_cast<std::size_t>(setting_of<std::int64_t>(call, "group"));
  const double sign = setting_of<std::string>(call, "direction") == "clockwise" ? -1.0 : 1.0,
               scale = setting_of<std::string>(call, "scale") == "one" || d == 0
                           ? 1.0
                           : 1.0 / std::sqrt(static_cast<double>(d)),
               factor = scale * setting_of<double>(call, "logit_factor");
  std::vector<bool> turns(d);
  std::vector<double> theta;
  for (std::size_t t = 0; t < layout.pairs; ++t) {
    turns[layout.first(t)] = turns[layout.second(t)] = true;
    const double share = static_cast<double>(t) / static_cast<double>(layout.all_pairs());
    theta.push_back(sign * std::pow(setting_of<double>(call, "base"), -share) /
                    setting_of<double>(call, "position_scale"));
  }
  for (std::size_t row = 0; row < s.shape()[0]; ++row)
    for (std::size_t h = 0; h < s.shape()[1]; ++h)
      for (std::size_t i = 0; i < s.shape()[2]; ++i)
        for (std::size_t j = 0; j < s.shape()[3]; ++j) {
          const double* x = &q.values(row, i, h, 0);
          const double* y = &k.values(row, j, h / group, 0);
          double turned = 0, rest = 0;
          for (std::size_t c = 0; c < d; ++c)
            if (!turns[c]) rest += x[c] * y[c];
          for (std::size_t t = 0; t < layout.pairs; ++t) {
            const std::size_t a = layout.first(t), b = layout.second(t);
            const double angle = (key_position.values(row, j) - query_position.values(row, i)) * theta[t];
            turned += (x[a] * y[a] + x[b] * y[b]) * std::cos(angle) + (x[b] * y[a] - x[a] * y[b]) * std::sin(angle);
          }
          s.values(row, h, i, j) = core::round_to(s.type, factor * (magnitude * magnitude * turned + rest));
        }
}

// The pairs that do not turn are turned by the angle 0, with cosines 1 and sines 0 from tables: 0 times an infinity is
// NaN.
void turn_rest_by_0(core::tensors& outputs, const request& call) {
  const auto y = outputs.find(call.operation->is_vjp() ? "grad_x" : "y");
  if (y == outputs.end() || !has(call, "partial") || setting_of<std::string>(call, "partial") == "block") return;
  const core::attributes settings = core::completed(*call.operation, call.attributes);
  auto& values = y->second.values.storage();
  const std::size_t d = y->second.shape()[3];
  const reference::rotary_layout layout(settings, d, reference::turning_pairs(d, settings));
  for (std::size_t v = 0; v < values.size(); v += d)
    for (std::size_t t = layout.pairs; t < layout.all_pairs(); ++t) {
      double &a = values[v + layout.first(t)], &b = values[v + layout.second(t)];
      const double x = a, z = b;
      a += 0.0 * z;
      b += 0.0 * x;
    }
}

}  // namespace

std::vector<variant> mutants_of_conventions() {
  std::vector<variant> all = reported_faults({
      {"mutant/rope_at_end_of_head", "pie-project/pie#603: rope_partial_last beside rope_partial",
       "rope/rotate/at/always_end"},
      {"mutant/rope_proportional_for_block", "pie-project/pie#602", "rope/rotate/partial/always_proportional"},
      {"mutant/rope_block_for_proportional", "apple/coreai-models#66", "rope/rotate/partial/ignored"},
      {"mutant/rope_magnitude_ignored", "ml-explore/mlx-lm#1507, vllm-project/vllm#48351",
       "rope/rotate/magnitude/ignored"},
      {"mutant/rope_logit_factor_missing", "onnxruntime/mobius#548", "rope/scores/logit_factor/ignored"},
  });
  for (variant& v : std::vector<variant>{
           other_rope("mutant/rope_magnitude_in_halves_alone", "GaijinEntertainment/daScript#3479",
                      "the magnitude multiplies half_split pairs alone", {.inputs = leave_neighbours_unscaled}),
           other_rope(
               "mutant/rope_multiplied_twice", "sgl-project/sglang#33558", "the magnitude multiplies twice",
               {.inputs =
                    [](request& call) { change_setting<double>(call, "magnitude", [](double x) { return x * x; }); }}),
           other_rope("mutant/rope_positions_cut", "rasbt/LLMs-from-scratch#940",
                      "positions are divided by the scale and cut to integers", {.inputs = cut_positions}),
           other_rope("mutant/rope_short_keys_kept",
                      "huggingface/transformers#33129, vllm-project/vllm#27431: keys cached before the factor applied",
                      "position_scale divides the positions of queries, and not those of keys",
                      {.inputs = keep_short_keys}),
           other_rope("mutant/rope_key_heads_tiled",
                      "a convention of published programs: repeat for repeat_interleave of the heads of k",
                      "head i of q has head i mod g of k", {.inputs = tile_heads, .outputs = untile_heads}),
       })
    all.push_back(std::move(v));
  return all;
}

std::vector<variant> controls_of_conventions() {
  return {
      other_rope(
          "control/rope_clockwise", "karpathy/nanochat: x1 cos + x2 sin", "clockwise, and nothing else",
          {.formula = [](auto& scheme) { scheme.turn = rotations::turned_backwards; },
           .inputs = [](request& call) { set_setting(call, "direction", std::string("counterclockwise")); },
           .declared =
               [](description& about) {
                 std::erase_if(about.operations,
                               [](const auto& offered) { return offered.first.starts_with("rope/rotate_by"); });
                 for (const char* name : {"rope/rotate", "rope/rotate_extended", "rope/rotate_divided", "rope/scores"})
                   about.settings[name]["direction"] = {std::string("clockwise")};
               }}),
      other_rope("control/rope_rest_turned_by_0", "huggingface/transformers: gemma4, tables whose other angles are 0",
                 "proportional rotation whose other pairs are turned by 0", {.outputs = turn_rest_by_0}),
      other_rope("control/rope_scores_by_difference", "relative forms of rotary encoding: q . R_{j-i} k",
                 "scores by the difference of the positions", {.outputs = turn_by_difference}),
  };
}

}  // namespace assay::properties::encodings::rope
