// Mutants of the gradients of sinusoidal encodings and of the curve of decay.
#include <cmath>

#include "properties/encodings/sinusoidal/mutants/mutants.hpp"
#include "properties/encodings/sinusoidal/mutants/recipes.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

struct theta_gradient_without_position : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.angle_by_theta = [](const R&) { return R(1.0); };
    return how;
  }
};
struct base_gradient_of_wrong_sign : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.frequency_by_base = [](const R& base, const R& theta, std::size_t step, std::size_t steps) {
      return -geometric_frequency_slope(base, theta, step, steps);
    };
    return how;
  }
};
struct base_gradient_without_theta : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.frequency_by_base = [](const R& base, const R&, std::size_t step, std::size_t steps) {
      return geometric_frequency_slope(base, R(1.0), step, steps);
    };
    return how;
  }
};

struct decay_undefined_at_0 : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.decay = [](const R& s, const R& base) { return s.number == 0.0 ? R(std::nan("")) : decay_at(s, base); };
    return how;
  }
};
struct decay_of_signed_distance : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.decay = [](const R& s, const R& base) { return s.number < 0.0 ? R(std::nan("")) : decay_at(s, base); };
    return how;
  }
};
struct decay_to_base_10 : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.decay = [](const R& s, const R& base) {
      return R(1.0) - (entire_cosine_integral(s) - entire_cosine_integral(s / base)) / R(std::log10(base.number));
    };
    return how;
  }
};
struct decay_of_128_columns : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.decay = [](const R& s, const R& base) {
      R sum(0.0);
      for (std::size_t i = 0; i < 64; ++i) sum = sum + cos(s * geometric_frequency(base, i, 64));
      return sum / R(64.0);
    };
    return how;
  }
};
struct decay_by_logarithm : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.decay = [](const R& s, const R& base) {
      const R z = s.number < 0.0 ? -s : s;
      if (!(z.number > 1.0)) return decay_at(s, base);
      return R(1.0) - (log(z) + R(0.57721566490153286)) / log(base);
    };
    return how;
  }
};

// By a logarithm, whose derivative at distance 0 is 0/0.
struct decay_slope_undefined_at_0 : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.decay_slope = [](const R& s, const R& base) { return (cos(s) - cos(s / base)) / (s * log(base)); };
    return how;
  }
};
// The derivative of Ci(s) alone.
struct decay_slope_without_far_end : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.decay_slope = [](const R& s, const R& base) { return s.number == 0.0 ? R(0.0) : cos(s) / (s * log(base)); };
    return how;
  }
};

}  // namespace

std::vector<variant> function_mutants() {
  return {
      make_variant<theta_gradient_without_position>("mutant/sinusoidal_theta_gradient_without_position",
                                                    "trainable frequencies, kexue.fm/archives/8231",
                                                    "the gradient of theta lacks the factor m"),
      make_variant<base_gradient_of_wrong_sign>("mutant/sinusoidal_base_gradient_of_wrong_sign",
                                                "the sign of an exponent lost in its derivative",
                                                "the gradient of the base has the wrong sign"),
      make_variant<base_gradient_without_theta>("mutant/sinusoidal_base_gradient_without_theta",
                                                "GR07 pytorch/pytorch#196705: a factor dropped",
                                                "the gradient of the base lacks theta"),
      make_variant<decay_undefined_at_0>("mutant/sinusoidal_decay_undefined_at_0",
                                         "Ci(0) - Ci(0), infinity less infinity", "the decay at distance 0 is NaN"),
      make_variant<decay_of_signed_distance>("mutant/sinusoidal_decay_of_signed_distance", "Ci of a negative number",
                                             "the decay of negative distances is NaN"),
      make_variant<decay_to_base_10>("mutant/sinusoidal_decay_to_base_10", "log10 for log",
                                     "the decay is divided by log10 b"),
      make_variant<decay_of_128_columns>("mutant/sinusoidal_decay_of_128_columns",
                                         "kexue.fm/archives/8231 plots the sum of d = 128",
                                         "the sum over 64 frequencies instead of the integral"),
      make_variant<decay_by_logarithm>("mutant/sinusoidal_decay_by_logarithm",
                                       "the logarithm inside the window for all distances",
                                       "1 - (log s + gamma) / log b for distances above 1"),
      make_variant<decay_slope_undefined_at_0>("mutant/sinusoidal_decay_slope_undefined_at_0",
                                               "GR01 pytorch/pytorch#49724: NaN where the derivative has a limit",
                                               "the gradient of the decay at distance 0 is NaN"),
      make_variant<decay_slope_without_far_end>("mutant/sinusoidal_decay_slope_without_far_end",
                                                "GR07 pytorch/pytorch#196705: a term dropped",
                                                "the gradient of the decay is that of Ci(s) alone"),
  };
}

}  // namespace assay::properties::encodings::sinusoidal
