// ComRoPE: usual sizes of models, faults of public reports, and right code.
#include <algorithm>
#include <cmath>

#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/matrix_rotation.hpp"
#include "reference/encodings/comrope.hpp"

namespace assay::properties::encodings::comrope {
namespace {

using encoding = reference::encodings::comrope;
inline constexpr auto& changed = make_variant<encoding>;

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/comrope_variants_exchanged", "Longin-Yu/ComRoPE: ComRoPEAPAttention for ComRoPELDAttention",
            "comrope/rotate/variant/ap_and_ld_exchanged"},
           {"mutant/comrope_heads_alike", "matrices that heads share, as multipliers are",
            "comrope/rotate/p/first_for_all_along_h_0"},
       }),
       faults_of_matrix_rotation<encoding>("comrope", "p"),
       {changed("mutant/comrope_above_alone", "StanfordMIMI/LieRE: what is above the diagonal",
                "P below the diagonal is ignored",
                {.inputs = [](request& call) { zero_on_and_below(call.inputs.at("p")); }, .representative = true}),
        changed("mutant/comrope_axes_by_blocks", "axial rotary encoding: the first blocks have the first axis",
                "axes have blocks side by side, not by turns", {.formula = [](auto& scheme) {
                  scheme.axis = [](std::size_t block, std::size_t blocks, std::size_t axes) {
                    return std::min(block / std::max<std::size_t>(blocks / axes, 1), axes - 1);
                  };
                }})}});
}

// R(p) R(q) = R(p + q): each position is cut in two different parts.
void check_commuting(experiment& e) {
  test_case first = e.c, second = e.c;
  auto &p = first.call.inputs.at("position").values.storage(), &q = second.call.inputs.at("position").values.storage();
  for (std::size_t k = 0; k < p.size(); ++k) {
    p[k] = std::floor(p[k] / 3) * (k % 2 == 0 ? 1.0 : -1.0);  // integers: both parts are exact
    q[k] -= p[k];
  }
  const numbers y(e.call(first), "y"), both(e.call(), "y");
  second.call.inputs.at("x").values.storage() = y.x;
  const numbers z(e.call(second), "y");
  const std::size_t d = sizes_of(e.c).at("d");
  for (std::size_t row = 0; row < y.size(); row += d) {
    double inherited = 0.0;
    for (std::size_t i = row; i < row + d; ++i) inherited += y.allowed[i];
    for (std::size_t i = row; i < row + d; ++i)
      e.equal(both[i], approximate{z.x[i], z.allowed[i] + inherited}, "element {}, at once and in two rotations", i);
  }
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> rotate{"comrope/rotate"};
  encoding_tests tests;
  tests.name = "comrope";
  tests.families = matrix_rotation_families();
  tests.rests_on_convention = has_nan_where_nothing_turns;
  tests.sizes = matrix_rotation_sizes(rotate);
  tests.long_ones = long_matrix_rotations(rotate);
  tests.mutants = mutants();
  tests.controls = controls_of_matrix_rotation<encoding>("comrope");
  tests.laws = laws_of_matrix_rotation("comrope", rotate, "p");
  tests.laws.push_back(law("comrope_commuting", "rotations of two positions are the rotation of their sum",
                           {rotate, {"counted"}}, {3, check_commuting}));
  return tests;
}

}  // namespace assay::properties::encodings::comrope
