// Rotary position embedding: faults of public reports, and right code.
#include <algorithm>
#include <cmath>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/rotation.hpp"
#include "properties/kinds/rotation_faults.hpp"
#include "reference/encodings/rope.hpp"

namespace assay::properties::encodings::rope {

std::vector<variant> mutants_of_conventions();
std::vector<variant> controls_of_conventions();

namespace {

using encoding = reference::encodings::rope;
using reference::formula::traced;
inline constexpr auto& changed = make_variant<encoding>;

// The value of the setting `scaling`; empty if the operation does not have the setting.
std::string scaling_of(const request& call) {
  return call.operation->attribute("scaling") == nullptr ? "" : setting_of<std::string>(call, "scaling");
}

void multiply_by_scale(request& call) {
  if (call.operation->attribute("position_scale") == nullptr) return;
  const auto scale = setting_of<double>(call, "position_scale");
  for (const core::tensor_declaration& d : call.operation->inputs)
    if (d.role == core::input_role::position) change_each(call.inputs, d.name, [&](double m) { return m * scale; });
  set_setting(call, "position_scale", 1.0);
}

// The fault of a kernel that has (d + 1) / 2 pairs.
void turn_beyond_the_head(core::tensors& outputs, const request& call) {
  if (call.operation->name != "rope/rotate") return;
  const rotary_case shape(call);
  const std::size_t d = shape.layout.features;
  if (d % 2 == 0 || shape.layout.pairs != d / 2) return;
  core::tensor& y = outputs.at("y");
  const double theta = std::pow(setting_of<double>(call, "base"), 1.0 / static_cast<double>(d) - 1.0) /
                       setting_of<double>(call, "position_scale");
  for (std::size_t v = 0; v + 1 < shape.vectors(); ++v) {
    const double angle = call.inputs.at("position").values.storage()[v / shape.heads] * theta;
    double &last = y.values.storage()[(v + 1) * d - 1], &next = y.values.storage()[(v + 1) * d];
    const double before = last;
    last = core::round_to(y.type, before * std::cos(angle) - next * std::sin(angle));
    next = core::round_to(y.type, before * std::sin(angle) + next * std::cos(angle));
  }
}

// Changes the steps of the exponent.
variation<encoding> with_steps(std::size_t (*steps)(std::size_t features, std::size_t pairs, std::size_t turning)) {
  return {.formula = [steps](auto& scheme) { scheme.divisor = steps; }};
}

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all = reported_faults({
      {"mutant/rope_wrong_layout", "huggingface/candle#3948",
       "rope/rotate/layout/interleaved_and_half_split_exchanged"},
      {"mutant/rope_layout_ignored", "vllm-project/vllm-ascend#12820", "rope/rotate/layout/always_half_split"},
      {"mutant/rope_rotary_ignored", "AI-Hypercomputer/maxtext#4616", "rope/rotate/rotary/ignored"},
      {"mutant/rope_fixed_base", "GPT-J of huggingface/transformers", "rope/rotate/base/ignored"},
      {"mutant/rope_index_as_position", "warpfront/hipfire#391", "rope/rotate/position/counted"},
      {"mutant/rope_slot_as_position", "rajveer43/VeloxQuant-MLX#389", "rope/rotate/call/counted_on"},
      {"mutant/rope_positions_of_first_row", "unslothai/unsloth#3699", "rope/rotate/position/first_for_all_along_B_0"},
      {"mutant/rope_position_of_first_token", "PaddlePaddle/PaddleNLP#7882, huggingface/transformers#25813",
       "rope/rotate/position/first_for_all_along_n_1"},
      {"mutant/rope_positions_doubled", "ml-explore/mlx-lm#1553", "rope/rotate/position/doubled"},
      {"mutant/rope_positions_in_bf16", "huggingface/candle#3520", "rope/rotate/position/in_bf16"},
      {"mutant/rope_positions_in_f16", "vllm-project/vllm#1004", "rope/rotate/position/in_f16"},
      {"mutant/rope_frequencies_in_bf16", "sgl-project/sglang-jax#1472", "rope/rotate_by/theta/in_bf16"},
      {"mutant/rope_frequencies_in_f16", "EleutherAI/gpt-neox#1003", "rope/rotate_by/theta/in_f16"},
      {"mutant/rope_base_always_scaled", "vllm-project/vllm#5093", "rope/frequencies/scaling/always_ntk"},
      {"mutant/rope_base_gradient_without_scaling", "pytorch/pytorch#196705: a factor lost in the derivative",
       "rope/frequencies:vjp/scaling/ignored"},
      {"mutant/rope_gradient_of_first_row", "fla-org/flash-linear-attention#955: B > 1",
       "rope/rotate_by:vjp/grad_y/first_for_all_along_B_0"},
  });
  for (variant& v : faults_of_rotation<encoding>("rope")) all.push_back(std::move(v));
  for (variant& v : mutants_of_conventions()) all.push_back(std::move(v));
  for (variant& v : std::vector<variant>{
           changed("mutant/rope_frequencies_of_neighbours", "raiyanyahya/how-to-train-your-gpt#6",
                   "halves are paired, and columns of cosines and sines in the order of neighbours",
                   {.outputs = [](core::tensors&y,
                                  const request&call) { take_columns_of_other_layout(y, call, "half_split"); }}),
           changed("mutant/rope_beyond_the_head", "fla-org/flash-linear-attention#1177",
                   "of an odd d the last coordinate rotates with the first one of the next head",
                   {.outputs = turn_beyond_the_head}),
           // The table of frequencies has a column for the unpaired coordinate.
           changed("mutant/rope_pairs_rounded_up", "lucidrains/rotary-embedding-torch#45",
                   "an odd d has the frequencies of d + 1",
                   with_steps([](std::size_t features, std::size_t pairs, std::size_t) {
                     return pairs == features / 2 ? (features + 1) / 2 : pairs;
                   })),
           changed("mutant/rope_slowest_is_whole_base",
                   "a convention of published programs, tensorflow/tensor2tensor among them",
                   "exponents t/(r-1) instead of t/r", with_steps([](std::size_t, std::size_t pairs, std::size_t) {
                     return std::max<std::size_t>(pairs, 2) - 1;
                   })),
           changed("mutant/rope_exponents_of_block",
                   "pegainfer-project/pegainfer#820: exponents of the block in proportional rotation",
                   "pairs half a head apart with the exponents of a block, base^(-t/rotary)",
                   with_steps([](std::size_t, std::size_t, std::size_t turning) { return turning; })),
           changed("mutant/rope_interpolated_twice", "sgl-project/sglang#33558", "the factor is squared",
                   {.inputs =
                        [](request&call) {
                          for (const char* name : {"position_scale", "factor"})
                            change_setting<double>(call, name, [](double s) { return s * s; });
                        }}),
           changed("mutant/rope_interpolation_inverted", "ml-explore/mlx-lm#1554", "positions times the scale",
                   {.inputs = multiply_by_scale}),
           changed("mutant/rope_base_times_factor", "lablup/mlxcel#1324",
                   "base' = base factor instead of base factor^(d/(d-2))",
                   {.formula =
                        [](auto&scheme) {
                          scheme.stretch = [](const traced& factor, std::size_t pairs) {
                            return reference::geometric_frequencies(factor, pairs, pairs);
                          };
                        }}),
           changed("mutant/rope_base_too_is_interpolated", "lablup/mlxcel#1389",
                   "interpolation stretches the base, too",
                   {.inputs =
                        [](request&call) {
                          if (scaling_of(call) != "interpolation") return;
                          const auto factor = setting_of<double>(call, "factor");
                          change_each(call.inputs, "base", [factor](double base) { return base * factor; });
                        }}),
           // The table made for a long context is also used for short ones.
           changed("mutant/rope_factor_stays", "huggingface/transformers#25306",
                   "the largest factor of all calls so far is in use",
                   {.inputs =
                        [largest = 1.0](request&call) mutable {
                          if (scaling_of(call) != "ntk") return;
                          largest = std::max(largest, setting_of<double>(call, "factor"));
                          set_setting(call, "factor", largest);
                        },
                   .declared = nothing_declared,
                   .remembers = true}),
       })
    all.push_back(std::move(v));
  return all;
}

std::vector<variant> controls() {
  std::vector<variant> all = all_of({controls_of_rotation<encoding>("rope"), controls_of_conventions()});
  all.push_back(changed("control/rope_frequencies_by_exp", "exp and log for a power", "exp(-(t/r) log base)",
                        {.formula = [](auto& scheme) {
                          scheme.frequencies = [](const traced& base, std::size_t pairs, std::size_t steps) {
                            core::shape one_pair = shape_of(base);
                            one_pair.push_back(1);
                            return exp(-to_real(reference::formula::counted(pairs)) /
                                       traced(static_cast<double>(std::max<std::size_t>(steps, 1))) *
                                       reshaped(log(base), one_pair));
                          };
                        }}));
  // It offers rotations alone: the allowance of frequencies does not cover products of factors.
  all.push_back(changed("control/rope_products_of_factors", "ggml_rope_cache_init of ggml-org/llama.cpp",
                        "each frequency is the one before it times a factor",
                        {.formula =
                             [](auto& scheme) {
                               scheme.frequencies = [](const traced& base, std::size_t pairs, std::size_t steps) {
                                 std::vector<traced> products{broadcast(traced(1.0), {1})};
                                 const traced factor =
                                     power(base, reference::ratio(-1, std::max(static_cast<long>(steps), 1L)));
                                 while (products.size() < pairs) products.push_back(products.back() * factor);
                                 return between(reference::formula::joined(products, 0), 0, 0, pairs);
                               };
                             },
                         .declared =
                             [](description& about) {
                               nothing_declared(about);
                               std::erase_if(about.operations, [](const auto& offered) {
                                 return !offered.first.starts_with("rope/rotate");
                               });
                             }}));
  return all;
}

}  // namespace assay::properties::encodings::rope
