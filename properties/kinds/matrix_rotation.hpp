// Code that tests of rotations by matrices share (reference/kinds/matrix_rotation.hpp): families, sizes, laws, and
// wrong and right ways to compute the exponential.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/scheme_variant.hpp"
#include "properties/harness/catalogue.hpp"
#include "properties/laws/relations/relations.hpp"
#include "reference/formula/recording.hpp"

namespace assay::properties {

/// Families of angles, from 1e-3 to 130, and of x.
std::vector<family> matrix_rotation_families();
/// Rows, tokens, heads and blocks large together.
std::vector<usual_size> matrix_rotation_sizes(const std::vector<std::string>& operations);
std::vector<long_calls> long_matrix_rotations(const std::vector<std::string>& operations);
/// Whether a NaN in x may stand where nothing turns: by the formula its whole block is NaN, and code that leaves such
/// blocks alone keeps the other elements.
bool has_nan_where_nothing_turns(const request& call);
/// NAME_norms: blocks keep their lengths, and coordinates outside blocks do not change. NAME_identity: position 0
/// changes nothing. NAME_group: R(sp) R(p) = R((1 + s) p) for s = 1, 2 and -1. NAME_symmetric_part: only the
/// antisymmetric part of an input counts (only the part above the diagonal if the setting `form` says so).
/// NAME_dead_gradient: the gradient of that input is antisymmetric (0 on and below the diagonal).
std::vector<property> laws_of_matrix_rotation(const std::string& name, const std::vector<std::string>& operations,
                                              const std::string& generators);

/// Ways from X [..., b, b] to exp(X).
namespace exponentials {
using reference::formula::traced;

/// 1 + X + ... without scaling, as simple code sums it: powers over factorials.
traced series_of_powers(const traced& x, int terms);
/// Rodrigues's formula for three coordinates; the angle is the root of the sum of squares and `guard`. If
/// `small_ones_apart`, the quotients of small angles are series. Blocks of another size are computed correctly.
traced rodrigues(const traced& x, double guard, bool small_ones_apart);
/// torch.matrix_exp where the 1-norm selects its polynomial of degree 8 (aten/src/ATen/native/LinearAlgebra.cpp,
/// compute_T8). Before pytorch/pytorch#196658 its x_7 lacked the `factor` 3/2 for a single matrix, but not for a batch:
/// the coefficient of X^5 was 0.0075, and the later ones were too small as well.
traced torch_of_eight(const traced& x, core::dtype type, double factor);
/// Scaling and squaring as in plain code: X / 2^s with ||X||_1 / 2^s <= 1/2, 14 terms (2^-55 is left), s squarings.
/// `more`: X / 2^more is exponentiated and squared so many times more. The gradient is that of automatic
/// differentiation.
traced step_by_step(const traced& x, int more = 0);
/// exp(X) with the slope exp(X) E along E.
traced with_slope_of_first_order(const traced& x);

/// A change of the step in the formula and in its gradient: function(x).
template <class Function>
auto steps(Function function) {
  return [function](auto& scheme) { scheme.exponential = function; };
}
}  // namespace exponentials

/// Sets the entries (i, j), j <= i, of each matrix [b, b] to 0.
void zero_on_and_below(core::tensor& matrices);

/// Faults of every encoding of this kind.
template <class Encoding>
std::vector<variant> faults_of_matrix_rotation(const std::string& name, const std::string& generators) {
  using namespace exponentials;
  const auto changed = [&](const char* what, const char* report, const char* summary, variation<Encoding> changes) {
    return make_variant<Encoding>("mutant/" + name + "_" + what, report, summary, std::move(changes));
  };
  return {
      changed("series_unscaled", "Longin-Yu/ComRoPE, naive_matrix_exp",
              "the series has 32 terms, and nothing is scaled",
              {.formula = steps([](const traced& x) { return series_of_powers(x, 32); }), .representative = true}),
      changed("wrong_coefficient", "pytorch/pytorch#196592: matrix_exp",
              "matrices of norm 0.05 to 0.58 (3e-4 to 0.05 in f64) have a series too small from X^5 on, X^5 by a tenth",
              {.formula =
                   [](auto& scheme, core::dtype type) {
                     scheme.exponential = [type](const traced& x) { return torch_of_eight(x, type, 1.0); };
                   }}),
      changed("first_order", "a rotation by small angles", "the exponential is 1 + X",
              {.formula = steps([](const traced& x) { return series_of_powers(x, 1); })}),
      changed("transposed", "karpathy/nanochat#489: the other direction", "the transposed rotation",
              {.formula = steps([](const traced& x) { return skew_exponential(-x); })}),
      changed("half_the_angle", "(U - U^T) / 2: the antisymmetric part", "generators are half as large",
              {.formula = steps([](const traced& x) { return skew_exponential(x * traced(0.5)); })}),
      changed("exponent_in_bf16", "StanfordMIMI/LieRE, EXPONENTIATE_LOOP: a cast before the exponential",
              "X is rounded to bf16 before its exponential",
              {.formula = steps([](const traced& x) { return skew_exponential(held_in(core::dtype::bf16, x)); })}),
      changed("closed_form_at_0", "oarriaga/paz#383, kornia/kornia#1715: the angle 0 in a closed form",
              "three coordinates turn by Rodrigues's formula, which is 0 / 0 at position 0",
              {.formula = steps([](const traced& x) { return rodrigues(x, 0.0, false); }), .representative = true}),
      changed("safe_norm", "kornia/kornia#1715: a number under the root",
              "the angle of three coordinates is sqrt(a^2 + 1e-3)",
              {.formula = steps([](const traced& x) { return rodrigues(x, 1e-3, false); })}),
      changed("gradient_above_alone", "a backward that fills the triangle which it reads",
              "the gradient of a matrix is 0 on and below the diagonal",
              {.outputs =
                   [generators](core::tensors& outputs, const request&) {
                     if (const auto found = outputs.find("grad_" + generators); found != outputs.end())
                       zero_on_and_below(found->second);
                   },
               .representative = true}),
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
              {.gradient = steps(with_slope_of_first_order), .representative = true}),
  };
}

/// Controls: published ways of computing.
template <class Encoding>
std::vector<variant> controls_of_matrix_rotation(const std::string& name) {
  using namespace exponentials;
  const auto changed = [&](const char* what, const char* report, const char* summary, variation<Encoding> changes) {
    return make_variant<Encoding>("control/" + name + "_" + what, report, summary, std::move(changes));
  };
  return {
      changed("step_by_step", "automatic differentiation of scaling and squaring",
              "the gradient goes back through the squarings",
              {.formula = steps([](const traced& x) { return step_by_step(x); })}),
      changed("closed_form", "Rodrigues's formula, small angles by series", "three coordinates by a closed form",
              {.formula = steps([](const traced& x) { return rodrigues(x, 0.0, true); })}),
      changed("polynomial_of_eight", "pytorch/pytorch#196658: torch.matrix_exp",
              "matrices of norm 0.05 to 0.58 (3e-4 to 0.05 in f64) have a polynomial of degree 8",
              {.formula =
                   [](auto& scheme, core::dtype type) {
                     scheme.exponential = [type](const traced& x) { return torch_of_eight(x, type, 1.5); };
                   }}),
      changed("scaled_further", "scipy.linalg.expm and torch.matrix_exp scale by other numbers", "three more squarings",
              {.formula = steps([](const traced& x) { return step_by_step(x, 3); })}),
      changed("in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
      changed("usual_stages", "StanfordMIMI/LieRE: the exponential in f32, cast",
              "f16 and bf16: the exponential in f32, its product in the dtype",
              {.arithmetic = in_usual_stages, .declared = nothing_declared}),
  };
}

}  // namespace assay::properties
