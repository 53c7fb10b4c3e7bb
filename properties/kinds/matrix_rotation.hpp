// What tests of rotations by matrices share (reference/kinds/matrix_rotation.hpp): families, sizes, laws, wrong and
// right ways to exponentiate.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>
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
/// NAME_group: R(sp) R(p) = R((1 + s) p) of s = 1, 2 and -1. NAME_symmetric_part: the antisymmetric part of an input
/// alone counts (above the diagonal alone where the setting `form` says so), and NAME_dead_gradient: its gradient is
/// antisymmetric (0 on and below the diagonal).
std::vector<property> laws_of_matrix_rotation(const std::string& name, const std::vector<std::string>& operations,
                                              const std::string& generators);

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
/// torch.matrix_exp, where the 1-norm calls for its polynomial of degree 8 (aten/src/ATen/native/LinearAlgebra.cpp,
/// compute_T8). Before pytorch/pytorch#196658 its x_7 lacked the `factor` 3/2 of a matrix alone, not of a batch: the
/// coefficient of X^5 was 0.0075, and those behind it too small as well.
template <class R>
matrix<R> torch_of_eight(const matrix<R>& x, std::size_t b, core::dtype type, double factor) {
  double norm = 0.0;
  for (std::size_t j = 0; j < b; ++j) {
    double sum = 0.0;
    for (std::size_t i = 0; i < b; ++i) sum += std::fabs(to_double(x[i * b + j]));
    norm = std::max(norm, sum);
  }
  const bool wide = type == core::dtype::f64;
  if (norm <= (wide ? 3.397168839976962e-4 : 5.116619363445086e-2)) return reference::skew_exponential(x, b);
  if (norm > (wide ? 4.991228871115323e-2 : 5.800524627688768e-1)) return reference::skew_exponential(x, b);
  const double root = std::sqrt(177.0), two_thirds = 2.0 / 3.0;
  const matrix<R> one = reference::identity_matrix<R>(b), square = reference::sum_of_products(b, x, x);
  const auto sum = [&](std::initializer_list<std::pair<double, const matrix<R>*>> terms) {
    matrix<R> all(b * b, R(0.0));
    for (const auto& [by, m] : terms)
      for (std::size_t k = 0; k < b * b; ++k) all[k] = all[k] + R(by) * (*m)[k];
    return all;
  };
  const matrix<R> fourth = reference::sum_of_products(
      b, square, sum({{two_thirds * (1 + root) / 88, &x}, {two_thirds * (1 + root) / 352, &square}}));
  const matrix<R> eighth = reference::sum_of_products(b, sum({{two_thirds, &square}, {1.0, &fourth}}),
                                                      sum({{(-271 + 29 * root) / (315 * two_thirds), &one},
                                                           {(-11 + 11 * root) / (1260 * two_thirds), &x},
                                                           {(-99 + 11 * root) / (5040 * two_thirds), &square},
                                                           {factor * (89 - root) / (5040 * two_thirds), &fourth}}));
  return sum({{1.0, &one}, {1.0, &x}, {(857 - 58 * root) / 630, &square}, {1.0, &eighth}});
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

/// The entries (i, j), j <= i, of each matrix [b, b] become 0.
void zero_on_and_below(core::tensor& matrices);

/// Faults of every encoding of this kind.
template <class Encoding>
std::vector<variant> faults_of_matrix_rotation(const std::string& name, const std::string& generators) {
  using namespace exponentials;
  const auto changed = [&](const char* what, const char* report, const char* summary, variation<Encoding> how) {
    return make_variant<Encoding>("mutant/" + name + "_" + what, report, summary, std::move(how));
  };
  return {
      changed(
          "series_unscaled", "Longin-Yu/ComRoPE, naive_matrix_exp", "the series has 32 terms, and nothing is scaled",
          {.formula = steps([](const auto& x, std::size_t b) { return series_of_powers(x, b, 32); }), .telling = true}),
      changed("wrong_coefficient", "pytorch/pytorch#196592: matrix_exp",
              "matrices of norm 0.05 to 0.58 (3e-4 to 0.05 in f64) have a series too small from X^5 on, X^5 by a tenth",
              {.formula =
                   [](auto& how, core::dtype type) {
                     how.exponential = [type](const auto& x, std::size_t b) { return torch_of_eight(x, b, type, 1.0); };
                   }}),
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
      changed("gradient_above_alone", "a backward that fills the triangle which it reads",
              "the gradient of a matrix is 0 on and below the diagonal",
              {.outputs =
                   [generators](core::tensors& outputs, const request&) {
                     if (const auto found = outputs.find("grad_" + generators); found != outputs.end())
                       zero_on_and_below(found->second);
                   },
               .telling = true}),
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
      changed("polynomial_of_eight", "pytorch/pytorch#196658: torch.matrix_exp",
              "matrices of norm 0.05 to 0.58 (3e-4 to 0.05 in f64) have a polynomial of degree 8",
              {.formula =
                   [](auto& how, core::dtype type) {
                     how.exponential = [type](const auto& x, std::size_t b) { return torch_of_eight(x, b, type, 1.5); };
                   }}),
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
