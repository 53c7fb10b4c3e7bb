// LieRE: usual sizes of models, faults of public reports, and right code.
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/matrix_rotation.hpp"
#include "reference/encodings/liere.hpp"

namespace assay::properties::encodings::liere {
namespace {

using encoding = reference::encodings::liere;
using reference::formula::traced;
inline constexpr auto& changed = make_variant<encoding>;

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/liere_whole_matrix", "Longin-Yu/ComRoPE, LieREAttention: freqs - freqs^T for the upper part",
            "liere/rotate/form/upper_and_difference_exchanged"},
           {"mutant/liere_heads_alike", "StanfordMIMI/LieRE: rotary_embedding_per_head",
            "liere/rotate/generators/first_for_all_along_h_0"},
       }),
       faults_of_matrix_rotation<encoding>("liere", "generators"),
       {changed("mutant/liere_sum_for_difference", "a sign of U - U^T lost in a port",
                "generators are the sum of U and its transpose above the diagonal",
                {.formula =
                     [](auto& scheme) {
                       scheme.skew = [](const traced& upper, const traced& lower, bool) { return upper + lower; };
                     },
                 .representative = true})}});
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> rotate{"liere/rotate"};
  encoding_tests tests;
  tests.name = "liere";
  tests.families = matrix_rotation_families();
  tests.rests_on_convention = has_nan_where_nothing_turns;
  tests.sizes = matrix_rotation_sizes(rotate);
  tests.long_ones = long_matrix_rotations({"liere/rotate", "liere/rotation"});
  tests.mutants = mutants();
  tests.controls = controls_of_matrix_rotation<encoding>("liere");
  tests.controls.push_back(changed("control/liere_less_half", "StanfordMIMI/LieRE, models/rope_vit.py: - 0.5",
                                   "1/2 is subtracted from U, which the difference takes out again",
                                   {.formula = [](auto& scheme) {
                                     scheme.skew = [](const traced& upper, const traced& lower, bool difference) {
                                       return difference ? upper - lower : (upper - traced(0.5)) + traced(0.5);
                                     };
                                   }}));
  tests.laws = laws_of_matrix_rotation("liere", rotate, "generators");
  return tests;
}

}  // namespace assay::properties::encodings::liere
