// What is wrong in the gradients of sinusoidal encodings or in the curve of decay.
#include <cmath>

#include "properties/encodings/sinusoidal/mutants/mutants.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

recipe_change<recipe> with_decay(R (*decay)(const R& s, const R& base)) {
  return [decay](recipe& how) { how.decay = decay; };
}
gradient_change<recipe> with_decay_slope(R (*slope)(const R& s, const R& base)) {
  return [slope](gradient_recipe& how) {
    how.decay = [slope](const G& s, const G& base) {
      return G::made(decay_at(s.number, base.number), G::by(s, [&] { return slope(s.number, base.number); }));
    };
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

}  // namespace

std::vector<variant> function_mutants() {
  return {
      changed_sinusoidal("mutant/sinusoidal_theta_gradient_without_position",
                         "trainable frequencies, kexue.fm/archives/8231", "the gradient of theta lacks the factor m",
                         {.gradient = [](gradient_recipe& how) { how.wave = wave_without_position; }, .telling = true}),
      changed_sinusoidal("mutant/sinusoidal_base_gradient_of_wrong_sign",
                         "the sign of an exponent lost in its derivative",
                         "the gradient of the base has the wrong sign",
                         {.outputs = [](core::tensors& outputs) { negate(outputs, "grad_base"); }}),
      changed_sinusoidal(
          "mutant/sinusoidal_base_gradient_without_theta", "GR07 pytorch/pytorch#196705: a factor dropped",
          "the gradient of the base lacks theta",
          {.gradient = [](gradient_recipe& how) { how.frequency = frequency_without_theta; }, .telling = true}),
      changed_sinusoidal("mutant/sinusoidal_decay_undefined_at_0", "Ci(0) - Ci(0), infinity less infinity",
                         "the decay at distance 0 is NaN",
                         {.formula = with_decay([](const R& s, const R& base) {
                            return s.number == 0.0 ? R(std::nan("")) : decay_at(s, base);
                          }),
                          .telling = true}),
      changed_sinusoidal("mutant/sinusoidal_decay_of_signed_distance", "Ci of a negative number",
                         "the decay of negative distances is NaN",
                         {.formula = with_decay([](const R& s, const R& base) {
                            return s.number < 0.0 ? R(std::nan("")) : decay_at(s, base);
                          })}),
      changed_sinusoidal("mutant/sinusoidal_decay_to_base_10", "log10 for log", "the decay is divided by log10 b",
                         {.formula = with_decay([](const R& s, const R& base) {
                            return R(1.0) - (entire_cosine_integral(s) - entire_cosine_integral(s / base)) /
                                                R(std::log10(base.number));
                          }),
                          .telling = true}),
      changed_sinusoidal("mutant/sinusoidal_decay_of_128_columns", "kexue.fm/archives/8231 plots the sum of d = 128",
                         "the sum over 64 frequencies instead of the integral",
                         {.formula = with_decay([](const R& s, const R& base) {
                            R sum(0.0);
                            for (std::size_t i = 0; i < 64; ++i) sum = sum + cos(s * geometric_frequency(base, i, 64));
                            return sum / R(64.0);
                          })}),
      changed_sinusoidal("mutant/sinusoidal_decay_by_logarithm", "the logarithm inside the window for all distances",
                         "1 - (log s + gamma) / log b for distances above 1",
                         {.formula = with_decay([](const R& s, const R& base) {
                            const R z = s.number < 0.0 ? -s : s;
                            if (!(z.number > 1.0)) return decay_at(s, base);
                            return R(1.0) - (log(z) + R(0.57721566490153286)) / log(base);
                          })}),
      // By a logarithm, whose derivative at distance 0 is 0/0.
      changed_sinusoidal("mutant/sinusoidal_decay_slope_undefined_at_0",
                         "GR01 pytorch/pytorch#49724: NaN where the derivative has a limit",
                         "the gradient of the decay at distance 0 is NaN",
                         {.gradient = with_decay_slope(
                              [](const R& s, const R& base) { return (cos(s) - cos(s / base)) / (s * log(base)); })}),
      changed_sinusoidal("mutant/sinusoidal_decay_slope_without_far_end", "GR07 pytorch/pytorch#196705: a term dropped",
                         "the gradient of the decay is that of Ci(s) alone",
                         {.gradient = with_decay_slope([](const R& s, const R& base) {
                            return s.number == 0.0 ? R(0.0) : cos(s) / (s * log(base));
                          })}),
  };
}

}  // namespace assay::properties::encodings::sinusoidal
