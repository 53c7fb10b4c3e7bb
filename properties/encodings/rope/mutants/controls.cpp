// Right rotations that compute otherwise.
#include <cmath>
#include <complex>
#include <map>
#include <memory>

#include "properties/encodings/rope/mutants/edits.hpp"
#include "properties/encodings/rope/mutants/mutants.hpp"

namespace assay::properties::encodings::rope {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// Right: exp(-(t/r) log base).
struct frequencies_by_exp : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    how.frequency = [](const R& base, std::size_t t, std::size_t steps) {
      return exp(R(-static_cast<double>(t)) / R(static_cast<double>(steps)) * log(base));
    };
    return how;
  }
};

template <class R>
R unrounded(double x) {
  return from_setting<R>(x);
}

// Right: frequencies and angles in double, whatever the dtype.
struct angles_in_double : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    how.frequency = [](const R& base, std::size_t t, std::size_t steps) {
      return unrounded<R>(std::pow(base.number, -static_cast<double>(t) / static_cast<double>(steps)));
    };
    how.rotation_at = [](const R& position, const R& theta) {
      return rotation<R>(unrounded<R>(position.number * theta.number));
    };
    return how;
  }
};

// Right: every rotation is found once and then read from a table.
struct tables_gathered : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    auto table = std::make_shared<std::map<std::pair<double, double>, rotation<R>>>();
    how.rotation_at = [table](const R& position, const R& theta) {
      if (!std::isfinite((position * theta).number)) return rotation<R>(position * theta);  // NaN is no key
      return table->try_emplace({position.number, theta.number}, position * theta).first->second;
    };
    return how;
  }
};

// Right: products of complex numbers, each rounded once; the torque from y.
struct complex_products : unchanged_rope {
  template <class R>
  static std::complex<double> number(const coordinate_pair<R>& x) {
    return {x.first.number, x.second.number};
  }
  template <class R>
  static coordinate_pair<R> rounded_pair(std::complex<double> z) {
    return {R(z.real()), R(z.imag())};
  }
  // Without the recovery of infinities that the library's product has.
  static std::complex<double> times(std::complex<double> x, std::complex<double> y) {
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
  }
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    how.forward = [](const coordinate_pair<R>& x, const rotation<R>& by) {
      return rounded_pair<R>(times(number(x), {by.cosine.number, by.sine.number}));
    };
    how.backward = [](const coordinate_pair<R>& g, const rotation<R>& by) {
      return rounded_pair<R>(times(number(g), {by.cosine.number, -by.sine.number}));
    };
    how.angle_slope = [](const coordinate_pair<R>& x, const rotation<R>& by, const coordinate_pair<R>& g) {
      const coordinate_pair<R> y = turned(x, by);
      return y.first * g.second - y.second * g.first;
    };
    return how;
  }
};

}  // namespace

std::vector<variant> controls() {
  return {make_variant<frequencies_by_exp>("control/rope_frequencies_by_exp", "exp and log for a power",
                                           "exp(-(t/r) log base)"),
          make_variant<angles_in_double>("control/rope_angles_in_double", "a wider precision for angles",
                                         "frequencies and angles in double"),
          make_variant<tables_gathered>("control/rope_tables_gathered", "tables of cosines and sines, gathered",
                                        "each rotation is found once"),
          make_variant<complex_products>("control/rope_complex_products",
                                         "complex multiplication, as meta-llama/llama has it",
                                         "pairs as complex numbers, the torque from y"),
          make_variant<usual_stages<reference::encodings::rope>>(
              "control/rope_usual_stages", "LlamaRotaryEmbedding of huggingface/transformers",
              "f16 and bf16: angles in f32, tables and products in the dtype")};
}

}  // namespace assay::properties::encodings::rope
