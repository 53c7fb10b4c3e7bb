// Rotary embedding on several axes: sizes of models, faults of public reports, and right code.
#include <string>
#include <utility>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/rotation.hpp"
#include "properties/kinds/rotation_faults.hpp"
#include "reference/encodings/rope_axes.hpp"

namespace assay::properties::encodings::rope_axes {
namespace {

using encoding = reference::encodings::rope_axes;
inline constexpr auto& changed = make_variant<encoding>;

// Exchanges an axis of positions with the next one, if there is a next one.
template <std::size_t axis>
void exchange_axes(request& call) {
  core::tensor& m = call.inputs.at("position");
  const std::size_t axes = m.shape()[2];
  for (std::size_t i = axis; axes > axis + 1 && i < m.size(); i += axes)
    std::swap(m.values.storage()[i], m.values.storage()[i + 1]);
}

template <std::size_t axis>
variant exchanged(const char* id, const char* report, const char* summary) {
  variant v = changed(id, report, summary, {.inputs = exchange_axes<axis>});
  v.answered = [](request call) {
    exchange_axes<axis>(call);
    return call;
  };
  return v;
}

std::vector<variant> mutants() {
  std::vector<variant> all = reported_faults({
      {"mutant/rope_axes_exchanged",
       "huggingface/pytorch-image-models#2541, ggml-org/llama.cpp#13282, VisionLLaMA#4: x and y exchanged",
       "rope_axes/rotate/order/xy_and_yx_exchanged"},
      {"mutant/rope_axes_blocks_for_alternating", "Blaizzy/mlx-vlm#576, alibaba/MNN#4133, vllm-project/vllm-omni#1784",
       "rope_axes/rotate/assignment/ignored"},
      {"mutant/rope_axes_equal_sections", "a configuration whose sections are not read",
       "rope_axes/rotate/section_1/ignored"},
      {"mutant/rope_axes_exponents_restart", "exponents that restart on each axis, as axial ones do",
       "rope_axes/rotate/exponent/ignored"},
      {"mutant/rope_axes_layout_ignored", "vllm-project/vllm-ascend#12820",
       "rope_axes/rotate/layout/always_half_split"},
      {"mutant/rope_axes_heads_alike", "one table of frequencies for all heads",
       "rope_axes/rotate_by/theta/first_for_all_along_h_0"},
  });
  for (variant& v : faults_of_rotation<encoding>("rope_axes")) all.push_back(std::move(v));
  all.push_back(changed(
      "mutant/rope_axes_two_angles", "baidu/ERNIE-Image#6",
      "a pair is turned by two angles: halves are paired, and angles in the order of neighbours",
      {.outputs = [](core::tensors& y, const request& call) { take_columns_of_other_layout(y, call, "half_split"); },
       .representative = true}));
  all.push_back(exchanged<0>("mutant/rope_axes_first_two_exchanged",
                             "osaurus-ai/vmlx-swift#225: a grid is read by columns, which a square one does not show",
                             "the first two axes of position are exchanged"));
  all.push_back(exchanged<1>("mutant/rope_axes_last_two_exchanged", "huggingface/pytorch-image-models#2541",
                             "the last two of three axes of position are exchanged"));
  return all;
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> rotate{"rope_axes/rotate"}, rotate_by{"rope_axes/rotate_by"},
      rotations{"rope_axes/rotate", "rope_axes/rotate_by"};
  using std::int64_t;
  encoding_tests tests;
  tests.name = "rope_axes";
  tests.families = rotation_families();
  tests.families.front().summary = "a grid whose sides differ, x of order 1";
  tests.rests_on_convention = has_special_value_at_angle_0;
  tests.sizes = rotation_sizes(rotations);
  const auto of_model = [](const char* assignment, const char* exponent, const char* order, const char* layout,
                           double base, std::vector<int64_t> sections = {0, 0, 0}) -> core::attributes {
    return {{"assignment", std::string(assignment)},
            {"exponent", std::string(exponent)},
            {"order", std::string(order)},
            {"layout", std::string(layout)},
            {"base", base},
            {"section_0", sections[0]},
            {"section_1", sections[1]},
            {"section_2", sections[2]}};
  };
  const core::attributes qwen2_vl = of_model("blocks", "shared", "xy", "half_split", 1e6, {16, 24, 24}),
                         qwen3_vl = of_model("alternating", "shared", "xy", "half_split", 5e6, {24, 20, 20}),
                         pixtral = of_model("blocks", "by_turns", "yx", "half_split", 1e4),
                         llama4 = of_model("blocks", "per_axis", "xy", "interleaved", 1e4),
                         rope_vit = of_model("blocks", "per_axis", "xy", "interleaved", 100);
  for (const usual_size& size : std::vector<usual_size>{
           {rotate, {{"B", 2}, {"n", 9}, {"h", 2}, {"d", 128}, {"a", 3}}, true, "behind_text", qwen2_vl},
           {rotate, {{"B", 1}, {"n", 130}, {"h", 2}, {"d", 128}, {"a", 3}}, true, "behind_text", qwen3_vl},
           {rotate, {{"B", 1}, {"n", 130}, {"h", 2}, {"d", 64}, {"a", 2}}, true, "mild", pixtral},
           {rotate, {{"B", 1}, {"n", 65}, {"h", 2}, {"d", 88}, {"a", 2}}, true, "behind_text", llama4},
           {rotate, {{"B", 1}, {"n", 129}, {"h", 2}, {"d", 64}, {"a", 2}}, true, "mild", rope_vit},
           {rotate_by, {{"B", 2}, {"n", 130}, {"h", 3}, {"d", 64}, {"a", 2}}, true},
           {rotate_by, {{"B", 2}, {"n", 130}, {"h", 2}, {"d", 128}, {"a", 2}}, true},
           {rotate_by, {{"B", 2}, {"n", 66}, {"h", 9}, {"d", 64}, {"a", 3}}, true, "real_positions"},
       })
    tests.sizes.push_back(size);
  // With more axes than models have, f16 cannot hold the sums of angles.
  tests.long_ones = {{rotate, {{"d", 2}, {"a", 0}}, {{"d", 16390}, {"a", 5}}},
                     {rotate_by, {{"d", 2}, {"r", 0}, {"a", 0}}, {{"a", 64}}}};
  tests.mutants = mutants();
  tests.controls = controls_of_rotation<encoding>("rope_axes");
  tests.laws = laws_of_rotation("axes", rotations);
  return tests;
}

}  // namespace assay::properties::encodings::rope_axes
