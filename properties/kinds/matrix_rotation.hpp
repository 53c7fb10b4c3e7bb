// What tests of rotations by matrices share (reference/kinds/matrix_rotation.hpp): families, sizes, laws, wrong and
// right ways to exponentiate.
#pragma once

#include <string>
#include <vector>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/recipe_variant.hpp"
#include "properties/harness/catalogue.hpp"
#include "properties/laws/relations/relations.hpp"
#include "reference/algorithms/skew_exponential.hpp"

namespace assay::properties {

/// Regimes of angles, from 1e-3 to 130, and of x.
std::vector<family> matrix_rotation_families();
/// Rows, tokens, heads and blocks large together.
std::vector<usual_size> matrix_rotation_sizes(const std::vector<std::string>& operations);
std::vector<long_calls> long_matrix_rotations(const std::vector<std::string>& operations);
/// Whether a NaN in x may stand where nothing turns: its block is NaN by the formula, and as it is in code that leaves
/// such blocks alone.
bool has_nan_where_nothing_turns(const request& call);
/// NAME_norms: blocks keep their lengths, and what is in none is as it was. NAME_identity: position 0 changes nothing.
/// NAME_group: R(p) R(p) = R(2p), and R(-p) takes it back.
std::vector<property> laws_of_matrix_rotation(const std::string& name, const std::vector<std::string>& operations);

/// Ways from X [b, b] to exp(X), for numbers of any reading.
namespace exponentials {
template <class R>
using matrix = reference::square_matrix<R>;

/// 1 + X + ... without scaling, as code sums it: powers over factorials.
template <class R>
matrix<R> series_of_powers(const matrix<R>& x, std::size_t b, int terms) {
  matrix<R> power = reference::identity_matrix<R>(b), sum = power;
  R factorial(1.0);
  for (int k = 1; k <= terms; ++k) {
    power = reference::sum_of_products(b, power, x);
    factorial = factorial * R(static_cast<double>(k));
    for (std::size_t i = 0; i < b * b; ++i) sum[i] = sum[i] + power[i] / factorial;
  }
  return sum;
}
/// Rodrigues's formula of three coordinates; the angle is the root of the sum of squares and `guard`. Others as they
/// are right.
template <class R>
matrix<R> rodrigues(const matrix<R>& x, std::size_t b, double guard, bool small_ones_apart) {
  if (b != 3) return reference::skew_exponential(x, b);
  const R squares = x[1] * x[1] + x[2] * x[2] + x[5] * x[5] + R(guard);
  const matrix<R> square = reference::sum_of_products(b, x, x);
  R first(1.0), second(0.5);
  if (small_ones_apart && to_double(squares) < 1.0) {
    // sin a / a and (1 - cos a) / a^2 by their series.
    R f(1.0), s(0.5);
    for (int k = 9; k >= 1; --k) {
      f = k == 9 ? R(1.0) : f;
      const double even = 2.0 * k, odd = even + 1.0;
      f = R(1.0) - squares * f / R(even * odd);
      s = k == 9 ? R(1.0) : s;
      s = R(1.0) - squares * s / R(odd * (even + 2.0));
    }
    first = f, second = s / R(2.0);
  } else {
    const R angle = power(squares, reference::ratio(1, 2)), half = sin(angle / R(2.0));
    first = sin(angle) / angle, second = R(2.0) * half * half / squares;
  }
  matrix<R> r = reference::identity_matrix<R>(b);
  for (std::size_t k = 0; k < b * b; ++k) r[k] = r[k] + first * x[k] + second * square[k];
  return r;
}
/// By steps of the formula, so that the gradient is that of automatic differentiation.
template <class R>
matrix<R> step_by_step(const matrix<R>& x, std::size_t b) {
  matrix<R> none;
  return reference::scaled_and_squared(x, b, none);
}

/// As a step of the formula and of its gradient: of(x, b).
template <class Of>
auto steps(Of of) {
  return [of](auto& how) { how.exponential = [of](const auto& x, std::size_t b) { return of(x, b); }; };
}
}  // namespace exponentials

/// Faults of every encoding of this kind.
template <class Encoding>
std::vector<variant> faults_of_matrix_rotation(const std::string& name) {
  using namespace exponentials;
  const auto changed = [&](const char* what, const char* report, const char* summary, variation<Encoding> how) {
    return make_variant<Encoding>("mutant/" + name + "_" + what, report, summary, std::move(how));
  };
  return {
      changed(
          "series_unscaled", "Longin-Yu/ComRoPE, naive_matrix_exp", "the series has 32 terms, and nothing is scaled",
          {.formula = steps([](const auto& x, std::size_t b) { return series_of_powers(x, b, 32); }), .telling = true}),
      changed("first_order", "a rotation by small angles", "the exponential is 1 + X",
              {.formula = steps([](const auto& x, std::size_t b) { return series_of_powers(x, b, 1); })}),
      changed("transposed", "RP18 karpathy/nanochat#489: the other direction", "the transposed rotation",
              {.formula = steps([](auto x, std::size_t b) {
                 for (auto& y : x) y = -y;
                 return reference::skew_exponential(x, b);
               })}),
      changed("half_the_angle", "(U - U^T) / 2: the antisymmetric part", "generators are half as large",
              {.formula = steps([](auto x, std::size_t b) {
                 for (auto& y : x) y = y * std::decay_t<decltype(y)>(0.5);
                 return reference::skew_exponential(x, b);
               })}),
      changed("exponent_in_bf16", "StanfordMIMI/LieRE, EXPONENTIATE_LOOP: a cast before the exponential",
              "X is rounded to bf16 before its exponential", {.formula = steps([](auto x, std::size_t b) {
                                                                for (auto& y : x) y = held_in(core::dtype::bf16, y);
                                                                return reference::skew_exponential(x, b);
                                                              })}),
      changed("closed_form_at_0", "oarriaga/paz#383, kornia/kornia#1715: the angle 0 in a closed form",
              "three coordinates turn by Rodrigues's formula, which is 0 / 0 at position 0",
              {.formula = steps([](const auto& x, std::size_t b) { return rodrigues(x, b, 0.0, false); }),
               .telling = true}),
      changed("safe_norm", "kornia/kornia#1715: a number under the root",
              "the angle of three coordinates is sqrt(a^2 + 1e-3)",
              {.formula = steps([](const auto& x, std::size_t b) { return rodrigues(x, b, 1e-3, false); })}),
      changed("rest_zeroed", "StanfordMIMI/LieRE: d mod b", "coordinates behind the blocks are 0",
              {.outputs =
                   [](core::tensors& outputs, const request& call) {
                     const core::axis_sizes s = core::sizes_of(call);
                     for (const char* rotated : {"y", "grad_x"})
                       if (const auto found = outputs.find(rotated); found != outputs.end() && s.contains("c"))
                         for (std::size_t k = 0; k < found->second.size(); ++k)
                           if (k % s.at("d") >= s.at("c") * s.at("b")) found->second.values.storage()[k] = 0.0;
                   }}),
      changed("gradient_of_first_order", "a backward that takes L(X, G) for exp(X) G",
              "the gradient is that of exp(X) times itself, as if matrices commuted",
              {.gradient =
                   [](auto& how) {
                     how.exponential = [](const auto& x, std::size_t b) {
                       using N = typename std::decay_t<decltype(x)>::value_type;
                       matrix<typename N::underlying> plain;
                       for (const N& y : x) plain.push_back(y.number);
                       matrix<N> r;
                       for (const auto& y : reference::skew_exponential(plain, b)) r.emplace_back(y);
                       // exp(X) (1 + X - X as it is): its slope along E is exp(X) E.
                       matrix<N> moved = reference::identity_matrix<N>(b);
                       for (std::size_t k = 0; k < b * b; ++k) moved[k] = moved[k] + (x[k] - N(plain[k]));
                       return reference::sum_of_products(b, r, moved);
                     };
                   },
               .telling = true}),
  };
}

/// Right: published ways of computing.
template <class Encoding>
std::vector<variant> controls_of_matrix_rotation(const std::string& name) {
  using namespace exponentials;
  const auto changed = [&](const char* what, const char* report, const char* summary, variation<Encoding> how) {
    return make_variant<Encoding>("control/" + name + "_" + what, report, summary, std::move(how));
  };
  return {
      changed("step_by_step", "automatic differentiation of scaling and squaring",
              "the gradient goes back through the squarings",
              {.formula = steps([](const auto& x, std::size_t b) { return step_by_step(x, b); })}),
      changed("closed_form", "Rodrigues's formula, small angles by series", "three coordinates by a closed form",
              {.formula = steps([](const auto& x, std::size_t b) { return rodrigues(x, b, 0.0, true); })}),
      changed("scaled_further", "scipy.linalg.expm and torch.matrix_exp scale by other numbers", "three more squarings",
              {.formula = steps([](auto x, std::size_t b) {
                 for (auto& y : x) y = y * std::decay_t<decltype(y)>(0.125);
                 auto r = step_by_step(x, b);
                 for (int k = 0; k < 3; ++k) r = reference::sum_of_products(b, r, r);
                 return r;
               })}),
      changed("in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
      changed("usual_stages", "StanfordMIMI/LieRE: the exponential in f32, cast",
              "f16 and bf16: the exponential in f32, its product in the dtype",
              {.arithmetic = in_usual_stages, .declared = nothing_declared}),
  };
}

}  // namespace assay::properties
