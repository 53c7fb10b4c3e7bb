// ComRoPE (Yu et al., "ComRoPE: Scalable and Robust Rotary Position Embedding Parameterized by Trainable Commuting
// Angle Matrices", 2025, arXiv 2506.03737): rotations of blocks by generators that commute, so that scores depend on
// differences of positions.
//
//   comrope/rotate  y = exp(X_j(p)) x in block j,  S_j = P_j - P_j^T
//     `variant` "ap", axial partition: X_j = p_{j mod a} S_j; "ld", linearly dependent: X_j = (sum_k p_k theta_kj) S_j
//
// Shapes: x [B, n, h, d], p [h, c, b, b], theta [a, c] (shared by all heads; without effect in "ap"), position [n, a]
// -> y (kinds/matrix_rotation.hpp). The symmetric part of P has no effect, and has the gradient 0.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

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

  using traced = formula::traced;
  /// The steps that variants replace.
  struct scheme : matrix_scheme, recorded_scheme<scheme> {
    /// The axis of a block in "ap".
    std::size_t (*axis)(std::size_t block, std::size_t blocks, std::size_t axes) =
        [](std::size_t block, std::size_t, std::size_t axes) { return block % axes; };
  };
  static std::vector<recorded_formula<scheme>> formulas() { return {{declaration(), rotate}}; }

 private:
  static bool is_axial(const core::attributes& settings) {
    return core::chosen<bool>(settings, "variant", {{"ap", true}, {"ld", false}});
  }
  static std::string conflict(const core::attributes& settings, const core::axis_sizes& sizes);
  static core::operation declaration();
  /// The factor of the generator for each token and block, [n, c].
  static traced factors(const scheme& steps, const recorded_call& in);
  static formula::program rotate(const scheme& steps, const formula::program_sizes& call);
};

inline comrope::traced comrope::factors(const scheme& steps, const recorded_call& in) {
  const traced position = in["position"], theta = in["theta"];
  if (!is_axial(in.settings())) return contracted(position, theta, "na,ac->nc");
  const std::size_t blocks = in.size("c"), axes = in.size("a");
  std::vector<std::int64_t> own;
  for (std::size_t j = 0; j < blocks; ++j) own.push_back(static_cast<std::int64_t>(steps.axis(j, blocks, axes)));
  return gathered(position, formula::known_integers({blocks}, own), 1);
}
inline formula::program comrope::rotate(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced entries = in_stage<traced>(matrix_stage::exponent, [&] {
    const traced p = in["p"], skew = entries_above(p) - entries_below(p);
    return reshaped(factors(steps, in), {in.size("n"), 1, in.size("c"), 1}) * skew;
  });
  return in.finish(rotated_blocks(steps, in["x"], entries, in.size("b")));
}

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
       .attributes = {choice("variant", {"ap", "ld"},
                             "what multiplies the generator of a block: the position on one axis (ap), or the sum over "
                             "all axes weighted by "
                             "theta (ld)")},
       .conflict = conflict});
}

}  // namespace assay::reference::encodings
