#include "properties/encodings/sinusoidal/mutants/mutants.hpp"

#include <algorithm>
#include <cmath>

#include "properties/faults/angle_faults.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// Of a setting with two values the other one.
std::function<void(request&)> with_other(const char* setting, const char* one, const char* other) {
  return [=](request& call) {
    change_setting<std::string>(call, setting, [&](const std::string& now) { return now == one ? other : one; });
  };
}
recipe_change<recipe> with_plan(void (*change)(table_plan& plan, const core::attributes& settings)) {
  return [change](auto& how) {
    how.plan = [change](const core::attributes& settings) {
      table_plan plan = plan_of_table(settings);
      change(plan, settings);
      return plan;
    };
  };
}
recipe_change<recipe> with_position(double (*read)(double position)) {
  return [read](recipe& how) { how.position = [read](double m) { return R(read(m)); }; };
}

// tensor2tensor's divisor without its guard: 0 / 0 where there is one frequency.
void divide_unguarded(recipe& how) {
  how.plan = [](const core::attributes& settings) {
    table_plan plan = plan_of_table(settings);
    const bool by_count = core::setting<std::string>(settings, "rule") == "tensor2tensor";
    const bool one = std::none_of(plan.columns.begin(), plan.columns.end(), [](const column& c) { return c.pair > 0; });
    if (by_count && one) plan.scale.steps = 0;
    return plan;
  };
  how.frequency = [](const R& base, std::size_t step, std::size_t steps) {
    return steps == 0 ? R(std::nan("")) : geometric_frequency(base, step, steps);
  };
}

void clear_row_of_position_0(core::tensors& outputs, const request& call) {
  if (call.operation->name != "sinusoidal/table") return;
  core::tensor& p = outputs.at("p");
  const auto& positions = call.inputs.at("position").values.storage();
  for (std::size_t k = 0; k < p.size(); ++k)
    if (positions[k / p.shape()[1]] == 0.0) p.values.storage()[k] = 0.0;
}

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all{
      changed_sinusoidal("mutant/sinusoidal_cosine_one_ahead", "SamLynnEvans/Transformer#25",
                         "a cosine has the exponent of the next pair",
                         {.formula = with_plan([](table_plan& plan, const core::attributes&) {
                            for (column& c : plan.columns) c.pair += c.function == waveform::cosine ? 1 : 0;
                          }),
                          .telling = true}),
      changed_sinusoidal("mutant/sinusoidal_layout_swapped", "SN04 tatp22/multidim-positional-encoding#20",
                         "halves instead of pairs side by side, and the other way round",
                         {.inputs = with_other("layout", "interleaved", "half_split"), .telling = true}),
      changed_sinusoidal("mutant/sinusoidal_functions_swapped", "SN04 tatp22/multidim-positional-encoding#22",
                         "cosines where sines belong",
                         {.inputs = with_other("first", "sine", "cosine"), .telling = true}),
      changed_sinusoidal(
          "mutant/sinusoidal_first_ignored", "SN04 tatp22/multidim-positional-encoding#22",
          "sines first, whatever is asked for",
          {.inputs = [](request& call) { set_setting<std::string>(call, "first", "sine"); }, .telling = true}),
      changed_sinusoidal("mutant/sinusoidal_unguarded_divisor", "SN02 ml-explore/mlx#3614",
                         "a single frequency is 0/0 by the divisor count - 1", {.formula = divide_unguarded}),
      // It is filled as the next even one, and the last column cut off.
      changed_sinusoidal("mutant/sinusoidal_odd_width_rounded_up", "SN03 gc-os-ai/pyaptamer#607",
                         "an odd width has the exponents of the next even one",
                         {.formula = with_plan([](table_plan& plan, const core::attributes& settings) {
                            if (core::setting<std::string>(settings, "rule") == "paper")
                              plan.scale.steps = plan.columns.size() + plan.columns.size() % 2;
                          })}),
      // It holds the function before it.
      changed_sinusoidal("mutant/sinusoidal_odd_column_repeated", "SN03 datawhalechina/base-llm#67",
                         "the column that an odd width leaves over is not 0",
                         {.formula = with_plan([](table_plan& plan, const core::attributes&) {
                            if (plan.columns.size() > 1 && plan.columns.back().function == waveform::zero)
                              plan.columns.back() = plan.columns[plan.columns.size() - 2];
                          }),
                          .telling = true}),
      changed_sinusoidal("mutant/sinusoidal_positions_in_f16", "pytorch/pytorch#81926", "positions repeat after 2048",
                         {.formula = with_position([](double m) { return core::round_to(core::dtype::f16, m); })}),
      changed_sinusoidal("mutant/sinusoidal_positions_in_bf16", "huggingface/candle#3520", "positions repeat after 256",
                         {.formula = with_position([](double m) { return core::round_to(core::dtype::bf16, m); })}),
      changed_sinusoidal(
          "mutant/sinusoidal_positions_by_fours", "openvinotoolkit/openvino#33214",
          "positions from 4096 on are multiples of 4",
          {.formula = with_position([](double m) { return std::fabs(m) < 4096 ? m : 4 * std::nearbyint(m / 4); }),
           .telling = true}),
      changed_sinusoidal("mutant/sinusoidal_distance_without_sign", "fastnlp/TENER: direction awareness",
                         "negative positions lose their sign",
                         {.formula = with_position([](double m) { return std::fabs(m); })}),
      changed_sinusoidal("mutant/sinusoidal_frequencies_in_bf16",
                         "zihangdai/xlnet: frequencies in the dtype of the run", "frequencies of 8 bits",
                         {.formula = with_frequency([](const auto& base, std::size_t step, std::size_t steps) {
                            return held_in(core::dtype::bf16, geometric_frequency(base, step, steps));
                          })}),
      changed_sinusoidal("mutant/sinusoidal_offset_ignored", "facebookresearch/fairseq: positions from padding_idx + 1",
                         "the offset has no effect",
                         {.inputs = [](request& call) { set_setting<std::int64_t>(call, "offset", 0); }}),
      changed_sinusoidal("mutant/sinusoidal_offset_twice", "facebookresearch/fairseq: positions from padding_idx + 1",
                         "the offset is added twice",
                         {.inputs =
                              [](request& call) {
                                change_setting<std::int64_t>(call, "offset", [](std::int64_t now) { return 2 * now; });
                              },
                          .telling = true}),
      changed_sinusoidal(
          "mutant/sinusoidal_base_is_a_tenth", "kexue.fm/archives/8231 plots base 1000 too",
          "the base is 1000 instead of 10000",
          {.inputs = [](request& call) { change_setting<double>(call, "base", [](double now) { return now / 10; }); }}),
      // In f32 a 2 pi of 24 bits is no worse than the rounding of the angle.
      changed_sinusoidal("mutant/sinusoidal_fast_sine", "kekzl/imp#1317", "angles are reduced by a 2 pi of 24 bits",
                         {.formula =
                              [](recipe& how) {
                                how.wave = [](waveform function, const R& m, const R& theta) {
                                  const R angle = reduced_once(m * theta);
                                  return function == waveform::sine ? sin(angle) : cos(angle);
                                };
                              },
                          .shown_in = core::dtype::f64}),
      changed_sinusoidal("mutant/sinusoidal_reduction_runs_out_of_bits", "tenstorrent/tt-metal#51845",
                         "angles beyond 10^5 are reduced by multiples of pi that are not exact",
                         {.formula =
                              [](recipe& how) {
                                how.wave = [](waveform function, const R& m, const R& theta) {
                                  const auto [rest, turned] = reduced_by_parts(m * theta);
                                  const R wave = function == waveform::sine ? sin(rest) : cos(rest);
                                  return turned ? -wave : wave;
                                };
                              }}),
      changed_sinusoidal(
          "mutant/sinusoidal_rule_of_tensor2tensor", "tensorflow/tensor2tensor#391",
          "the slowest frequency is 1/base instead of base^(-(d-2)/d)",
          {.inputs = [](request& call) { set_setting<std::string>(call, "rule", "tensor2tensor"); }, .telling = true}),
      changed_sinusoidal("mutant/sinusoidal_padding_row_cleared", "facebookresearch/fairseq: the row of padding_idx",
                         "the row of position 0 is 0", {.outputs = clear_row_of_position_0}),
  };
  for (variant& v : function_mutants()) all.push_back(std::move(v));
  return all;
}

}  // namespace assay::properties::encodings::sinusoidal
