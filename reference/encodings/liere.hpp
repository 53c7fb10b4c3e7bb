// LieRE (Ostmeier et al., "LieRE: Lie Rotational Positional Encodings", 2024, arXiv 2406.10322): rotations of several
// coordinates at once by learned generators, one for each axis of the positions.
//
//   X(p) = sum_k p_k A_k,   A_k = U_k - U_k^T,   R(p) = exp(X(p))
//
//   liere/rotation  R of each position
//   liere/rotate    blocks of x times R (kinds/matrix_rotation.hpp)
//
// Shapes: generators [a, b, b], or [h, a, c, b, b] of each head and block; position [n, a] -> R [n, b, b], or x [B, n,
// h, d] -> y. Setting `form` of A: "upper", the part of U above the diagonal alone (StanfordMIMI/LieRE,
// models/rope_vit.py), or "difference", all of it (Longin-Yu/ComRoPE, model.py): there the symmetric part of U has no
// effect, and has the gradient 0.
//
// The released code holds U + 1/2, and subtracts 1/2 before it uses U. This changes only the roundings; the allowance
// of "upper" covers them. Rotations depend on differences of positions where generators commute, and not otherwise.
#pragma once

#include <array>
#include <functional>
#include <string_view>
#include <vector>

#include "reference/kinds/matrix_rotation.hpp"

namespace assay::reference::encodings {

struct liere {
  static constexpr std::string_view name = "liere";
  static core::encoding_summary summary() {
    return {.what = "rotations of several coordinates at once, by learned generators",
            .formula = "y = exp(sum_a p_a A_a) x, A_a skew-symmetric",
            .sources = {{"Ostmeier et al. 2024", "https://arxiv.org/abs/2406.10322"}}};
  }

  using traced = formula::traced;
  /// The steps that variants replace.
  struct scheme : matrix_scheme, recorded_scheme<scheme> {
    /// Entries of A_k from the entries of U_k at their places and at the transposed places.
    std::function<traced(const traced& upper, const traced& lower, bool difference)> skew = skew_entries;
  };
  static std::vector<recorded_formula<scheme>> formulas() {
    const auto [rotation_declaration, rotate_declaration] = declarations();
    return {{rotation_declaration, rotation}, {rotate_declaration, rotate}};
  }

 private:
  static traced skew_entries(const traced& upper, const traced& lower, bool difference) {
    if (difference) return upper - lower;
    return covering(upper, [&] { return (upper - traced(0.5)) + traced(0.5); });
  }
  static std::array<core::operation, 2> declarations();
  /// The entries of X above the diagonal: sums of products of positions and generators; `letters` says which.
  static traced exponents(const scheme& steps, const recorded_call& in, const char* letters) {
    const bool difference = core::chosen<bool>(in.settings(), "form", {{"upper", false}, {"difference", true}});
    return in_stage<traced>(matrix_stage::exponent, [&] {
      const traced u = in["generators"];
      return contracted(in["position"], steps.skew(entries_above(u), entries_below(u), difference), letters);
    });
  }
  static formula::program rotation(const scheme& steps, const formula::program_sizes& call) {
    recorded_call in(call);
    return in.finish(rotations_by(steps, exponents(steps, in, "na,at->nt"), in.size("b")));
  }
  static formula::program rotate(const scheme& steps, const formula::program_sizes& call) {
    recorded_call in(call);
    return in.finish(rotated_blocks(steps, in["x"], exponents(steps, in, "na,hact->nhct"), in.size("b")));
  }
};

inline std::array<core::operation, 2> liere::declarations() {
  const auto generators = [](std::vector<std::string> axes) {
    return core::parameter("generators", std::move(axes), "U, of which the antisymmetric part is the generator");
  };
  const core::attribute_declaration form = choice(
      "form", {"upper", "difference"}, "what the generator A is made of: the part of U above the diagonal, or U - U^T");
  core::operation rotate = matrix_rotation_declaration(
      {.name = "liere/rotate",
       .source = "Ostmeier et al. 2024, arXiv 2406.10322, section 4",
       .inputs = {generators({"h", "a", "c", "b", "b"})},
       .attributes = {form},
       .conflict = [](const core::attributes&, const core::axis_sizes& sizes) { return conflict_of_blocks(sizes); }});
  core::operation rotation{.name = "liere/rotation",
                           .source = rotate.source,
                           .inputs = {generators({"a", "b", "b"}), positions_on_axes()},
                           .outputs = {{.name = "R", .axes = {"n", "b", "b"}, .meaning = "rotations"}},
                           .attributes = {form},
                           .stages = matrix_rotation_stages(),
                           .grows_with = core::with_position,
                           .independent = {"n"},
                           .axis_roles = {{"a", core::axis_role::parameter}}};
  // Nothing is multiplied here.
  rotation.stages.erase(rotation.stages.begin() + static_cast<int>(matrix_stage::product));
  return {std::move(rotation), std::move(rotate)};
}

}  // namespace assay::reference::encodings
