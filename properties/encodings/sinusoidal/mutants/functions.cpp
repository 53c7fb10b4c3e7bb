// What is wrong in the gradients of sinusoidal encodings or in the curve of decay.
#include <cmath>

#include "properties/encodings/sinusoidal/mutants/mutants.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

recipe_change<recipe> with_base_slope(R (*slope)(const R& base, const R& theta, std::size_t step, std::size_t steps)) {
  return [slope](recipe& how) { how.frequency_by_base = slope; };
}
recipe_change<recipe> with_decay(R (*decay)(const R& s, const R& base)) {
  return [decay](recipe& how) { how.decay = decay; };
}
recipe_change<recipe> with_decay_slope(R (*slope)(const R& s, const R& base)) {
  return [slope](recipe& how) { how.decay_slope = slope; };
}

}  // namespace

std::vector<variant> function_mutants() {
  return {
      changed_sinusoidal(
          "mutant/sinusoidal_theta_gradient_without_position", "trainable frequencies, kexue.fm/archives/8231",
          "the gradient of theta lacks the factor m",
          {.formula = [](recipe& how) { how.angle_by_theta = [](const R&) { return R(1.0); }; }, .telling = true}),
      changed_sinusoidal(
          "mutant/sinusoidal_base_gradient_of_wrong_sign", "the sign of an exponent lost in its derivative",
          "the gradient of the base has the wrong sign",
          {.formula = with_base_slope([](const R& base, const R& theta, std::size_t step, std::size_t steps) {
             return -geometric_frequency_slope(base, theta, step, steps);
           })}),
      changed_sinusoidal("mutant/sinusoidal_base_gradient_without_theta",
                         "GR07 pytorch/pytorch#196705: a factor dropped", "the gradient of the base lacks theta",
                         {.formula = with_base_slope([](const R& base, const R&, std::size_t step, std::size_t steps) {
                            return geometric_frequency_slope(base, R(1.0), step, steps);
                          }),
                          .telling = true}),
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
                         {.formula = with_decay_slope(
                              [](const R& s, const R& base) { return (cos(s) - cos(s / base)) / (s * log(base)); })}),
      changed_sinusoidal("mutant/sinusoidal_decay_slope_without_far_end", "GR07 pytorch/pytorch#196705: a term dropped",
                         "the gradient of the decay is that of Ci(s) alone",
                         {.formula = with_decay_slope([](const R& s, const R& base) {
                            return s.number == 0.0 ? R(0.0) : cos(s) / (s * log(base));
                          })}),
  };
}

}  // namespace assay::properties::encodings::sinusoidal
