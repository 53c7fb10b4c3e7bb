// Wrong and right ways to sinusoidal tables, their frequencies and the curve of decay.
#include <algorithm>
#include <cmath>

#include "properties/faults/angle_faults.hpp"
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/sinusoidal.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;
using R = rounded;
using recipe = sinusoidal_recipe<R>;
using gradient_recipe = gradient_steps<recipe>::type;
using G = gradient_recipe::number;
inline constexpr auto& changed = make_variant<reference::encodings::sinusoidal>;

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
recipe_change<recipe> with_angle(R (*wave)(waveform function, const R& angle)) {
  return [wave](recipe& how) {
    how.wave = [wave](waveform function, const R& m, const R& theta) { return wave(function, m * theta); };
  };
}
recipe_change<recipe> with_decay(R (*decay)(const R& s, const R& base)) {
  return [decay](recipe& how) { how.decay = decay; };
}

R wave_of(waveform function, const R& angle) { return function == waveform::sine ? sin(angle) : cos(angle); }
R reduced_wave(waveform function, const R& angle) {
  const auto [rest, turned] = reduced_by_parts(angle);
  return turned ? -wave_of(function, rest) : wave_of(function, rest);
}

// tensor2tensor's divisor without its guard: 0 / 0 where there is one frequency.
void divide_unguarded(recipe& how) {
  how.plan = [](const core::attributes& settings) {
    table_plan plan = plan_of_table(settings);
    const bool one = std::none_of(plan.columns.begin(), plan.columns.end(), [](const column& c) { return c.pair > 0; });
    if (core::setting<std::string>(settings, "rule") == "tensor2tensor" && one) plan.scale.steps = 0;
    return plan;
  };
  how.frequency = [](const R& base, std::size_t step, std::size_t steps) {
    return steps == 0 ? R(std::nan("")) : geometric_frequency(base, step, steps);
  };
}

// The angle m theta, whose derivative in theta is 1.
G wave_without_position(waveform function, const G& m, const G& theta) {
  const G angle = G::made(m.number * theta.number, G::by(m, [&] { return theta.number; }), G::along(theta));
  return function == waveform::sine ? sin(angle) : cos(angle);
}
// -t / steps / base for -t / steps theta / base.
G frequency_without_theta(const G& base, std::size_t step, std::size_t steps) {
  return G::made(geometric_frequency(base.number, step, steps), G::by(base, [&] {
                   return -(R(static_cast<double>(step)) / R(static_cast<double>(steps)) / base.number);
                 }));
}
// By a logarithm, whose derivative at distance 0 is 0/0.
G decay_by_logarithm(const G& s, const G& base) {
  return G::made(decay_at(s.number, base.number), G::by(s, [&] {
                   return (cos(s.number) - cos(s.number / base.number)) / (s.number * log(base.number));
                 }));
}

// By the addition theorem.
template <class N>
N coarse_and_fine(waveform function, const N& m, const N& theta) {
  const double steps = 256 * std::nearbyint(to_double(m) / 256);
  const N coarse = N(steps) * theta, fine = (m - N(steps)) * theta;
  return function == waveform::sine ? sin(coarse) * cos(fine) + cos(coarse) * sin(fine)
                                    : cos(coarse) * cos(fine) - sin(coarse) * sin(fine);
}

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all = reported_faults({
      {"mutant/sinusoidal_layout_swapped", "SN04 tatp22/multidim-positional-encoding#20",
       "sinusoidal/table/layout/interleaved_and_half_split_exchanged"},
      {"mutant/sinusoidal_functions_swapped", "SN04 tatp22/multidim-positional-encoding#22",
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
                   .telling = true}),
           changed("mutant/sinusoidal_offset_twice", "butsugiri/shape: positions that are shifted, and a table that is",
                   "the offset is added twice",
                   {.inputs =
                        [](request&call) {
                          change_setting<std::int64_t>(call, "offset", [](std::int64_t k) { return 2 * k; });
                        },
                   .telling = true}),
           changed("mutant/sinusoidal_unguarded_divisor", "SN02 ml-explore/mlx#3614",
                   "a single frequency is 0/0 by the divisor count - 1", {.formula = divide_unguarded}),
           // It is filled as the next even one, and the last column cut off.
           changed("mutant/sinusoidal_odd_width_rounded_up", "SN03 gc-os-ai/pyaptamer#607",
                   "an odd width has the exponents of the next even one",
                   {.formula = with_plan([](table_plan&plan, const core::attributes&settings) {
                      if (core::setting<std::string>(settings, "rule") == "paper")
                        plan.scale.steps = plan.columns.size() + plan.columns.size() % 2;
                    })}),
           // It holds the function before it.
           changed("mutant/sinusoidal_odd_column_repeated", "SN03 datawhalechina/base-llm#67",
                   "the column that an odd width leaves over is not 0",
                   {.formula = with_plan([](table_plan&plan, const core::attributes&) {
                      if (plan.columns.size() > 1 && plan.columns.back().function == waveform::zero)
                        plan.columns.back() = plan.columns[plan.columns.size() - 2];
                    }),
                   .telling = true}),
           changed(
               "mutant/sinusoidal_positions_by_fours", "openvinotoolkit/openvino#33214",
               "positions from 4096 on are multiples of 4",
               {.formula = with_position([](double m) { return std::fabs(m) < 4096 ? m : 4 * std::nearbyint(m / 4); }),
               .telling = true}),
           changed("mutant/sinusoidal_distance_without_sign", "fastnlp/TENER: direction awareness",
                   "negative positions lose their sign",
                   {.formula = with_position([](double m) { return std::fabs(m); })}),
           // In f32 a 2 pi of 24 bits is no worse than the rounding of the angle.
           changed("mutant/sinusoidal_fast_sine", "kekzl/imp#1317", "angles are reduced by a 2 pi of 24 bits",
                   {.formula = with_angle([](waveform f, const R&angle) { return wave_of(f, reduced_once(angle)); }),
                   .shown_in = core::dtype::f64}),
           changed("mutant/sinusoidal_reduction_runs_out_of_bits", "tenstorrent/tt-metal#51845",
                   "angles beyond 10^5 are reduced by multiples of pi that are not exact",
                   {.formula = with_angle(reduced_wave)}),
           changed("mutant/sinusoidal_theta_gradient_without_position", "trainable frequencies, kexue.fm/archives/8231",
                   "the gradient of theta lacks the factor m",
                   {.gradient = [](gradient_recipe&how) { how.wave = wave_without_position; }, .telling = true}),
           changed("mutant/sinusoidal_base_gradient_without_theta", "GR07 pytorch/pytorch#196705: a factor dropped",
                   "the gradient of the base lacks theta",
                   {.gradient = [](gradient_recipe&how) { how.frequency = frequency_without_theta; }}),
           changed("mutant/sinusoidal_decay_of_signed_distance", "Ci of a number that is not positive",
                   "the decay of distance 0 and of negative distances is NaN",
                   {.formula = with_decay(
                        [](const R&s, const R&base) { return s.number > 0.0 ? decay_at(s, base) : R(std::nan("")); }),
                   .telling = true}),
           changed("mutant/sinusoidal_decay_of_128_columns", "kexue.fm/archives/8231 plots the sum of d = 128",
                   "the sum over 64 frequencies instead of the integral",
                   {.formula = with_decay([](const R&s, const R&base) {
                      R sum(0.0);
                      for (std::size_t i = 0; i < 64; ++i) sum = sum + cos(s * geometric_frequency(base, i, 64));
                      return sum / R(64.0);
                    })}),
           changed("mutant/sinusoidal_decay_slope_undefined_at_0",
                   "GR01 pytorch/pytorch#49724: NaN where the derivative has a limit",
                   "the gradient of the decay at distance 0 is NaN",
                   {.gradient = [](gradient_recipe&how) { how.decay = decay_by_logarithm; }}),
       })
    all.push_back(std::move(v));
  return all;
}

std::vector<variant> controls() {
  return {
      // As most code has it.
      changed("control/sinusoidal_exponential_form", "exp(-(2i/d) log b) instead of a power",
              "frequencies by an exponential",
              {.formula =
                   [](auto& how) {
                     using number = typename std::decay_t<decltype(how)>::number;
                     how.frequency = [](const number& base, std::size_t step, std::size_t steps) {
                       return exp(
                           -(number(static_cast<double>(step)) / number(static_cast<double>(steps)) * log(base)));
                     };
                   }}),
      changed("control/sinusoidal_frequencies_in_f64", "frequencies in f64, rounded once",
              "frequencies within half a unit",
              {.formula =
                   [](recipe& how) {
                     how.frequency = [](const R& base, std::size_t step, std::size_t steps) {
                       return R(std::pow(base.number, -static_cast<double>(step) / static_cast<double>(steps)));
                     };
                   }}),
      changed("control/sinusoidal_coarse_and_fine", "rotations by multiples of 256 and by the rest",
              "the addition theorem",
              {.formula = [](auto& how) { how.wave = coarse_and_fine<typename std::decay_t<decltype(how)>::number>; }}),
  };
}

}  // namespace assay::properties::encodings::sinusoidal
