// Wrong and right ways to compute sinusoidal tables, their frequencies and the decay curve.
#include <algorithm>
#include <cmath>

#include "properties/faults/angle_faults.hpp"
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/faults/scheme_variant.hpp"
#include "reference/encodings/sinusoidal.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

using namespace reference;  // the ways below are written in its vocabulary
using encoding = reference::encodings::sinusoidal;
using formula::traced, formula::traced_integer;
inline constexpr auto& changed = make_variant<encoding>;

// Changes the plan of the table.
auto with_plan(void (*change)(table_plan& plan, const core::attributes& settings)) {
  return [change](auto& scheme) {
    scheme.plan = [change](const core::attributes& settings) {
      table_plan plan = plan_of_table(settings);
      change(plan, settings);
      return plan;
    };
  };
}
auto with_position(traced_integer (*read)(const traced_integer& m)) {
  return [read](auto& scheme) { scheme.position = [read](const traced_integer& m) { return to_real(read(m)); }; };
}
auto with_angle(traced (*wave)(waveform function, const traced& angle)) {
  return [wave](auto& scheme) {
    scheme.wave = [wave](waveform function, const traced& m, const traced& theta) { return wave(function, m * theta); };
  };
}
auto with_decay(traced (*decay)(const traced& s, const traced& base)) {
  return [decay](auto& scheme) { scheme.decay = decay; };
}

traced_integer of_fours(const traced_integer& m) {
  const auto constant = [](std::int64_t x) { return traced_integer::constant(x); };
  const traced_integer fours = constant(4) * floor_divide(m + constant(2), constant(4));
  return either(less(magnitude_of(m), constant(4096)), m, fours);
}

traced wave_of(waveform function, const traced& angle) { return function == waveform::sine ? sin(angle) : cos(angle); }
traced reduced_wave(waveform function, const traced& angle) {
  const auto [rest, turned] = reduced_by_parts(angle);
  const traced wave = wave_of(function, rest);
  return either(turned, -wave, wave);
}

// tensor2tensor's divisor without its guard: 0 / 0 if there is only one frequency.
void divide_unguarded(encoding::scheme& scheme) {
  scheme.plan = [](const core::attributes& settings) {
    table_plan plan = plan_of_table(settings);
    const bool one = std::none_of(plan.columns.begin(), plan.columns.end(), [](const column& c) { return c.pair > 0; });
    if (core::setting<std::string>(settings, "rule") == "tensor2tensor" && one) plan.scale.steps = 0;
    return plan;
  };
  scheme.frequencies = [](const traced& base, std::size_t count, const frequency_scale& by) {
    return by.steps == 0 ? broadcast(traced(std::nan("")), {count}) : frequencies_of_scale(base, count, by);
  };
}

// The angle m theta with the derivative 1 in theta.
traced wave_without_position(waveform function, const traced& m, const traced& theta) {
  return wave_of(function, with_gradient_of(m * theta, detach(theta) * m + theta));
}
// The exponents -t of the frequencies b^(-t).
traced exponents_of(std::size_t count, const frequency_scale& by) {
  const auto constant = [](std::size_t x) { return traced_integer::constant(static_cast<std::int64_t>(x)); };
  return -index_number(formula::counted(count) * constant(by.stride)) / index_number(constant(by.steps));
}
// The bases, reshaped so that they broadcast over frequencies.
traced beside_frequencies(const traced& base) {
  core::shape one_frequency = shape_of(base);
  one_frequency.push_back(1);
  return reshaped(base, one_frequency);
}
// The slope of a frequency in the base is -t / b in place of -t theta / b.
traced frequencies_without_theta(const traced& base, std::size_t count, const frequency_scale& by) {
  const traced b = beside_frequencies(base);
  return with_slope(frequencies_of_scale(base, count, by), b, exponents_of(count, by) / b);
}
traced frequencies_by_exp(const traced& base, std::size_t count, const frequency_scale& by) {
  return exp(exponents_of(count, by) * beside_frequencies(log(base)));
}
// The slope divides by a logarithm: at distance 0 it is 0/0.
traced decay_by_logarithm(const traced& s, const traced& base) {
  return with_slope(encoding::decay_at(s, base), s, (cos(s) - cos(s / base)) / (s * log(base)));
}
traced decay_of_positive(const traced& s, const traced& base) {
  return either(less(traced(0.0), s), encoding::decay_at(s, base), traced(std::nan("")));
}
traced mean_of_64(const traced& s, const traced& base) {
  const traced theta = formula::geometric_frequencies(base, 0, 64, 64);
  return summed(cos(reshaped(s, {shape_of(s)[0], 1}) * theta), {1}) / traced(64.0);
}

// The angle is split by the addition theorem.
traced coarse_and_fine(waveform function, const traced& m, const traced& theta) {
  const traced steps = traced(256.0) * nearest_multiple(m, 256.0), coarse = steps * theta, fine = (m - steps) * theta;
  return function == waveform::sine ? sin(coarse) * cos(fine) + cos(coarse) * sin(fine)
                                    : cos(coarse) * cos(fine) - sin(coarse) * sin(fine);
}

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all = reported_faults({
      {"mutant/sinusoidal_layout_swapped", "tatp22/multidim-positional-encoding#20",
       "sinusoidal/table/layout/interleaved_and_half_split_exchanged"},
      {"mutant/sinusoidal_functions_swapped", "tatp22/multidim-positional-encoding#22",
       "sinusoidal/table/first/sine_and_cosine_exchanged"},
      {"mutant/sinusoidal_positions_in_f16", "pytorch/pytorch#81926", "sinusoidal/table/position/in_f16"},
      {"mutant/sinusoidal_positions_in_bf16", "huggingface/candle#3520", "sinusoidal/table/position/in_bf16"},
      {"mutant/sinusoidal_frequencies_in_bf16", "zihangdai/xlnet: frequencies in the dtype of the run",
       "sinusoidal/frequencies/theta/in_bf16"},
      {"mutant/sinusoidal_offset_ignored", "facebookresearch/fairseq: positions from padding_idx + 1",
       "sinusoidal/table/offset/ignored"},
      {"mutant/sinusoidal_base_ignored", "kexue.fm/archives/8231 plots base 1000 too", "sinusoidal/table/base/ignored"},
      {"mutant/sinusoidal_rule_of_tensor2tensor", "tensorflow/tensor2tensor#391",
       "sinusoidal/table/rule/always_tensor2tensor"},
      {"mutant/sinusoidal_alpha_ignored", "kexue.fm/archives/8231: theta_t = t^alpha",
       "sinusoidal/table/alpha/ignored"},
      {"mutant/sinusoidal_padding_row_cleared", "facebookresearch/fairseq: the row of padding_idx",
       "sinusoidal/table/p/first_lost_along_n_0"},
      {"mutant/sinusoidal_base_gradient_of_wrong_sign", "the sign of an exponent lost in its derivative",
       "sinusoidal/frequencies:vjp/grad_base/negated"},
  });
  for (variant& v : std::vector<variant>{
           changed("mutant/sinusoidal_cosine_one_ahead", "SamLynnEvans/Transformer#25",
                   "a cosine has the exponent of the next pair",
                   {.formula = with_plan([](table_plan&plan, const core::attributes&) {
                      for (column& c : plan.columns) c.pair += c.function == waveform::cosine ? 1 : 0;
                    }),
                   .representative = true}),
           changed("mutant/sinusoidal_offset_twice", "butsugiri/shape: positions that are shifted, and a table that is",
                   "the offset is added twice",
                   {.inputs =
                        [](request&call) {
                          change_setting<std::int64_t>(call, "offset", [](std::int64_t k) { return 2 * k; });
                        },
                   .representative = true}),
           changed("mutant/sinusoidal_unguarded_divisor", "ml-explore/mlx#3614",
                   "a single frequency is 0/0 by the divisor count - 1", {.formula = divide_unguarded}),
           // The table is filled for the next even width, and the last column is cut off.
           changed("mutant/sinusoidal_odd_width_rounded_up", "gc-os-ai/pyaptamer#607",
                   "an odd width has the exponents of the next even one",
                   {.formula = with_plan([](table_plan&plan, const core::attributes&settings) {
                      if (core::setting<std::string>(settings, "rule") == "paper")
                        plan.scale.steps = plan.columns.size() + plan.columns.size() % 2;
                    })}),
           // The last column repeats the function before it.
           changed("mutant/sinusoidal_odd_column_repeated", "datawhalechina/base-llm#67",
                   "the column that an odd width leaves over is not 0",
                   {.formula = with_plan([](table_plan&plan, const core::attributes&) {
                      if (plan.columns.size() > 1 && plan.columns.back().function == waveform::zero)
                        plan.columns.back() = plan.columns[plan.columns.size() - 2];
                    }),
                   .representative = true}),
           changed("mutant/sinusoidal_positions_by_fours", "openvinotoolkit/openvino#33214",
                   "positions from 4096 on are multiples of 4",
                   {.formula = with_position(of_fours), .representative = true}),
           changed("mutant/sinusoidal_distance_without_sign", "fastnlp/TENER: direction awareness",
                   "negative positions lose their sign", {.formula = with_position(formula::magnitude_of)}),
           // In f32 a 2 pi of 24 bits is no worse than the rounding of the angle.
           changed(
               "mutant/sinusoidal_fast_sine", "kekzl/imp#1317", "angles are reduced by a 2 pi of 24 bits",
               {.formula = with_angle([](waveform f, const traced&angle) { return wave_of(f, reduced_once(angle)); }),
               .shown_in = core::dtype::f64}),
           changed("mutant/sinusoidal_reduction_runs_out_of_bits", "tenstorrent/tt-metal#51845",
                   "angles beyond 10^5 are reduced by multiples of pi that are not exact",
                   {.formula = with_angle(reduced_wave)}),
           changed("mutant/sinusoidal_theta_gradient_without_position", "trainable frequencies, kexue.fm/archives/8231",
                   "the gradient of theta lacks the factor m",
                   {.gradient = [](auto&scheme) { scheme.wave = wave_without_position; }, .representative = true}),
           changed("mutant/sinusoidal_base_gradient_without_theta", "pytorch/pytorch#196705: a factor dropped",
                   "the gradient of the base lacks theta",
                   {.gradient = [](auto&scheme) { scheme.frequencies = frequencies_without_theta; }}),
           changed("mutant/sinusoidal_decay_of_signed_distance", "Ci of a number that is not positive",
                   "the decay of distance 0 and of negative distances is NaN",
                   {.formula = with_decay(decay_of_positive), .representative = true}),
           changed("mutant/sinusoidal_decay_of_128_columns", "kexue.fm/archives/8231 plots the sum of d = 128",
                   "the sum over 64 frequencies instead of the integral", {.formula = with_decay(mean_of_64)}),
           changed("mutant/sinusoidal_decay_slope_undefined_at_0",
                   "pytorch/pytorch#49724: NaN where the derivative has a limit",
                   "the gradient of the decay at distance 0 is NaN", {.gradient = with_decay(decay_by_logarithm)}),
       })
    all.push_back(std::move(v));
  return all;
}

std::vector<variant> controls() {
  return {
      // The form of most code.
      changed("control/sinusoidal_exponential_form", "exp(-(2i/d) log b) instead of a power",
              "frequencies by an exponential",
              {.formula = [](auto& scheme) { scheme.frequencies = frequencies_by_exp; }}),
      changed("control/sinusoidal_coarse_and_fine", "rotations by multiples of 256 and by the rest",
              "the addition theorem", {.formula = [](auto& scheme) { scheme.wave = coarse_and_fine; }}),
  };
}

}  // namespace assay::properties::encodings::sinusoidal
