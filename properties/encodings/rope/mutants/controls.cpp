// Right rotations that compute otherwise.
#include <cmath>
#include <complex>
#include <map>

#include "properties/encodings/rope/mutants/mutants.hpp"

namespace assay::properties::encodings::rope {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary

void compute_angles_in_double(recipe& how) {
  how.frequency = [](const R& base, std::size_t t, std::size_t steps) {
    return from_setting<R>(std::pow(base.number, -static_cast<double>(t) / static_cast<double>(steps)));
  };
  how.rotation_at = [](const R& position, const R& theta) {
    return rotation<R>(from_setting<R>(position.number * theta.number));
  };
}

void multiply_factors(recipe& how) {
  how.frequency = [](const R& base, std::size_t t, std::size_t steps) {
    R product(1.0);
    for (std::size_t k = 0; k < t; ++k) product = product * geometric_frequency(base, 1, steps);
    return product;
  };
}
// Frequencies alone are held to the law of a power.
void offer_rotations_alone(description& about) {
  nothing_declared(about);
  std::erase_if(about.operations, [](const auto& offered) { return !offered.first.starts_with("rope/rotate"); });
}

void gather_rotations(recipe& how) {
  how.rotation_at = [table = std::map<std::pair<double, double>, rotation<R>>{}](const R& position,
                                                                                 const R& theta) mutable {
    if (!std::isfinite((position * theta).number)) return rotation<R>(position * theta);  // NaN is no key
    return table.try_emplace({position.number, theta.number}, position * theta).first->second;
  };
}

template <coordinate_pair<R> (*Turn)(const coordinate_pair<R>&, const rotation<R>&)>
coordinate_pair<R> unless_still(const coordinate_pair<R>& x, const rotation<R>& by) {
  return by.sine.number == 0.0 && by.cosine.number == 1.0 ? x : Turn(x, by);
}
void leave_still_pairs_alone(recipe& how) {
  how.forward = unless_still<turned<R>>;
  how.backward = unless_still<turned_back<R>>;
}

using complex = std::complex<double>;

complex number(const coordinate_pair<R>& x) { return {x.first.number, x.second.number}; }
coordinate_pair<R> rounded_pair(complex z) { return {R(z.real()), R(z.imag())}; }
// Without the recovery of infinities that the library's product has.
complex times(complex x, complex y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}
// Each product rounded once.
void multiply_complex_numbers(recipe& how) {
  how.forward = [](const coordinate_pair<R>& x, const rotation<R>& by) {
    return rounded_pair(times(number(x), {by.cosine.number, by.sine.number}));
  };
  how.backward = [](const coordinate_pair<R>& g, const rotation<R>& by) {
    return rounded_pair(times(number(g), {by.cosine.number, -by.sine.number}));
  };
  how.angle_slope = [](const coordinate_pair<R>& x, const rotation<R>& by, const coordinate_pair<R>& g) {
    const coordinate_pair<R> y = turned(x, by);
    return y.first * g.second - y.second * g.first;
  };
}

}  // namespace

std::vector<variant> controls() {
  return {
      changed_rope("control/rope_frequencies_by_exp", "exp and log for a power", "exp(-(t/r) log base)",
                   {.formula =
                        [](auto& how) {
                          how.frequency = [](const auto& base, std::size_t t, std::size_t steps) {
                            using number = std::decay_t<decltype(base)>;
                            return exp(number(-static_cast<double>(t)) / number(static_cast<double>(steps)) *
                                       log(base));
                          };
                        }}),
      changed_rope("control/rope_products_of_factors", "ggml_rope_cache_init of ggml-org/llama.cpp",
                   "each frequency is the one before it times a factor",
                   {.formula = multiply_factors, .declared = offer_rotations_alone}),
      changed_rope("control/rope_angles_in_double", "a wider precision for angles", "frequencies and angles in double",
                   {.formula = compute_angles_in_double}),
      changed_rope("control/rope_tables_gathered", "tables of cosines and sines, gathered",
                   "each rotation is found once", {.formula = gather_rotations}),
      changed_rope("control/rope_still_pairs_left_alone", "code that rotates from position 1 on",
                   "a pair of angle 0 stays as it is, whatever it holds", {.formula = leave_still_pairs_alone}),
      changed_rope("control/rope_complex_products", "complex multiplication, as meta-llama/llama has it",
                   "pairs as complex numbers, the torque from y", {.formula = multiply_complex_numbers}),
      changed_rope("control/rope_usual_stages", "LlamaRotaryEmbedding of huggingface/transformers",
                   "f16 and bf16: angles in f32, tables and products in the dtype",
                   {.arithmetic = in_usual_stages, .declared = nothing_declared}),
  };
}

}  // namespace assay::properties::encodings::rope
