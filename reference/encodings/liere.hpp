// LieRE (Ostmeier et al., "LieRE: Lie Rotational Positional Encodings", 2024, arXiv 2406.10322): rotations of several
// coordinates at once by learned generators, one for each axis of the positions.
//
//   X(p) = sum_k p_k A_k,   A_k = U_k - U_k^T,   R(p) = exp(X(p))
//
//   liere/rotation  R of each position
//   liere/rotate    blocks of x times R (kinds/matrix_rotation.hpp)
//
// Shapes: generators [a, b, b], or [h, a, c, b, b] of each head and block; position [n, a] -> R [n, b, b], or x
// [B, n, h, d] -> y. Setting `form` of A: "upper", the part of U above the diagonal alone (StanfordMIMI/LieRE,
// models/rope_vit.py), or "difference", all of it (Longin-Yu/ComRoPE, model.py): what is symmetric in U is without
// effect there, and has the gradient 0.
//
// The released code subtracts 1/2 of U before it takes the difference, which changes nothing but roundings; the
// allowance has them. Rotations depend on differences of positions where generators commute, and not otherwise.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "reference/kinds/matrix_rotation.hpp"

namespace assay::reference::encodings {

struct liere {
  static constexpr std::string_view name = "liere";
  static core::encoding_summary summary() {
    return {.what = "rotations of several coordinates at once, by learned generators",
            .formula = "y = exp(sum_a p_a A_a) x, A_a skew-symmetric",
            .sources = {{"Ostmeier et al. 2024", "https://arxiv.org/abs/2406.10322"}}};
  }

  /// The steps that variants replace.
  template <class R>
  struct recipe : matrix_recipe<recipe, R> {
    /// An entry of A_k from those of U_k in its place and in the transposed one.
    recipe_step<R, R(const R& upper, const R& lower, bool difference)> skew = skew_entry<R>;
  };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records();

 private:
  template <class R>
  static R skew_entry(const R& upper, const R& lower, bool difference) {
    if (difference) return upper - lower;
    return covering(upper, [&] { return (upper - R(0.5)) + R(0.5); });
  }
  template <class R>
  struct turns;
  template <class R>
  static fields<R> rotation(const arguments<R>& call, const recipe<R>& how);
  static std::array<core::operation, 2> declarations();
};

template <class R>
struct liere::turns {
  using recipe = liere::recipe<R>;
  const recipe& how;
  const field<R>&generators, &position;
  bool difference;
  std::size_t axes, blocks, width;

  turns(const arguments<R>& call, const recipe& with)
      : how(with),
        generators(call["generators"]),
        position(call["position"]),
        difference(core::chosen<bool>(call.settings, "form", {{"upper", false}, {"difference", true}})),
        axes(position.shape(1)),
        blocks(generators.dimension() == 5 ? generators.shape(2) : 1),
        width(generators.shape(generators.dimension() - 1)) {}

  [[nodiscard]] R exponent(std::size_t token, std::size_t head, std::size_t block, std::size_t i, std::size_t j) const {
    accumulator<R> sum;
    const std::size_t all = generators.shape(generators.dimension() == 5 ? 1 : 0);
    for (std::size_t k = 0; k < std::min(axes, all); ++k) {
      const R* u = generators.data() + ((head * all + k) * blocks + block) * width * width;
      sum.add_product(position.data()[token * axes + k], how.skew(u[i * width + j], u[j * width + i], difference));
    }
    return sum.total();
  }
};

template <class R>
fields<R> liere::rotation(const arguments<R>& call, const recipe<R>& how) {
  const turns<R> formula(call, how);
  const std::size_t tokens = formula.position.shape(0), b = formula.width;
  field<R> out = make_field<R>({tokens, b, b});
  for (std::size_t token = 0; token < tokens; ++token) {
    const square_matrix<R> r = rotation_of_block<R>(formula, how, token, 0, 0);
    std::copy(r.begin(), r.end(), out.data() + token * b * b);
  }
  return {{"R", std::move(out)}};
}

inline std::array<core::operation, 2> liere::declarations() {
  const auto generators = [](std::vector<std::string> axes) {
    return core::parameter("generators", std::move(axes), "U, of which the antisymmetric part is the generator");
  };
  const core::attribute_declaration form = choice("form", {"upper", "difference"}, "what of U is the generator");
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

template <class R>
std::vector<liere::record<R>> liere::records() {
  const auto [of_positions, of_vectors] = declarations();
  const auto with = [](core::operation declaration, evaluator<R, recipe<R>> forward) -> record<R> {
    return {.declaration = std::move(declaration),
            .algorithms = one_algorithm,
            .forward = forward,
            .vjp = derived_vjp<liere, R>,
            .jvp = not_offered};
  };
  return {with(of_positions, rotation<R>), with(of_vectors, rotate_blocks<turns, R>)};
}

}  // namespace assay::reference::encodings
