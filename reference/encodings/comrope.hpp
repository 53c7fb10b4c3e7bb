// ComRoPE (Yu et al., "ComRoPE: Scalable and Robust Rotary Position Embedding Parameterized by Trainable Commuting
// Angle Matrices", 2025, arXiv 2506.03737): rotations of blocks by generators that commute, so that scores depend on
// differences of positions.
//
//   comrope/rotate  y = exp(X_j(p)) x in block j,  S_j = P_j - P_j^T
//     `variant` "ap", axial partition: X_j = p_{j mod a} S_j; "ld", linearly dependent: X_j = (sum_k p_k theta_kj) S_j
//
// Shapes: x [B, n, h, d], p [h, c, b, b], theta [a, c] (of all heads; without effect in "ap"), position [n, a] -> y
// (kinds/matrix_rotation.hpp). What is symmetric in P is without effect, and has the gradient 0.
#pragma once

#include <string_view>

#include "reference/kinds/matrix_rotation.hpp"

namespace assay::reference::encodings {

struct comrope {
  static constexpr std::string_view name = "comrope";
  static core::encoding_summary summary() {
    return {.what = "rotations of several coordinates at once, by generators that commute",
            .formula = "y = exp(p_{j mod a} (P_j - P_j^T)) x in block j",
            .sources = {{"Yu et al. 2025", "https://arxiv.org/abs/2506.03737"}},
            .also = {{"ComRoPE-AP, ComRoPE-LD", "`variant` of comrope/rotate"}}};
  }

  /// The steps that variants replace.
  template <class R>
  struct recipe : matrix_recipe<recipe, R> {
    /// The axis of a block in "ap".
    std::size_t (*axis)(std::size_t block, std::size_t blocks, std::size_t axes) =
        [](std::size_t block, std::size_t, std::size_t axes) { return block % axes; };
  };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    return {{.declaration = declaration(),
             .algorithms = one_algorithm,
             .forward = rotate_blocks<turns, R>,
             .vjp = derived_vjp<comrope, R>,
             .jvp = not_offered}};
  }

 private:
  template <class R>
  struct turns;
  static bool is_axial(const core::attributes& settings) {
    return core::chosen<bool>(settings, "variant", {{"ap", true}, {"ld", false}});
  }
  static std::string conflict(const core::attributes& settings, const core::axis_sizes& sizes);
  static core::operation declaration();
};

template <class R>
struct comrope::turns {
  using recipe = comrope::recipe<R>;
  const recipe& how;
  const field<R>&p, &theta, &position;
  bool axial;
  std::size_t axes, blocks, width;

  turns(const arguments<R>& call, const recipe& with)
      : how(with),
        p(call["p"]),
        theta(call["theta"]),
        position(call["position"]),
        axial(is_axial(call.settings)),
        axes(position.shape(1)),
        blocks(p.shape(1)),
        width(p.shape(3)) {}

  [[nodiscard]] R exponent(std::size_t token, std::size_t head, std::size_t block, std::size_t i, std::size_t j) const {
    const R* of_block = p.data() + (head * blocks + block) * width * width;
    const R skew = of_block[i * width + j] - of_block[j * width + i];
    const R* place = position.data() + token * axes;
    if (axial) return place[how.axis(block, blocks, axes)] * skew;
    accumulator<R> sum;
    for (std::size_t k = 0; k < axes; ++k) sum.add_product(place[k], theta.data()[k * blocks + block]);
    return sum.total() * skew;
  }
};

inline std::string comrope::conflict(const core::attributes& settings, const core::axis_sizes& sizes) {
  if (sizes.at("a") == 0 && is_axial(settings)) return "a = 0: there is no axis";
  return conflict_of_blocks(sizes);
}

inline core::operation comrope::declaration() {
  return matrix_rotation_declaration(
      {.name = "comrope/rotate",
       .source = "Yu et al. 2025, arXiv 2506.03737, section 4, and its released code",
       .inputs = {core::parameter("p", {"h", "c", "b", "b"}, "P, whose antisymmetric part is the generator"),
                  core::parameter("theta", {"a", "c"}, "factors of positions in each block")},
       .attributes = {choice("variant", {"ap", "ld"}, "what a position multiplies a generator by")},
       .conflict = conflict});
}

}  // namespace assay::reference::encodings
