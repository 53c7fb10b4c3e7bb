// Code that tests of rotations share (reference/kinds/rotation.hpp): families, sizes, laws and faults.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "properties/harness/catalogue.hpp"
#include "properties/laws/relations/relations.hpp"
#include "reference/kinds/rotation.hpp"

namespace assay::properties {

/// Families of positions and of x, or of q and k: the mild ones first. Frequencies that are inputs are the published
/// ones times 1/2 to 1, some with the other sign and some 0; their divisors are from 1 to 64.
std::vector<family> rotation_families();
/// The one of them with this name.
family rotation_family(std::string_view name);
/// Large rows, tokens, heads and widths together, among them all at usual widths of heads.
std::vector<usual_size> rotation_sizes(const std::vector<std::string>& operations);
/// The same for scores: the cost of a case is the product of queries, keys and width.
std::vector<usual_size> score_sizes(const std::vector<std::string>& operations);

/// A call of a rotation, or of its gradient, seen as tokens, heads and pairs.
struct rotary_case {
  std::size_t rows, tokens, heads;
  reference::rotary_layout layout;

  explicit rotary_case(const request& call);
  explicit rotary_case(const test_case& c) : rotary_case(c.call) {}
  /// The number of vectors of d coordinates: rows, tokens and heads together.
  [[nodiscard]] std::size_t vectors() const { return rows * tokens * heads; }
  /// Calls visit(vector, pair, element of its first coordinate, element of its second one).
  template <class Visit>
  void for_pairs(Visit visit) const {
    for (std::size_t v = 0; v < vectors(); ++v)
      for (std::size_t t = 0; t < layout.pairs; ++t)
        visit(v, t, v * layout.features + layout.first(t), v * layout.features + layout.second(t));
  }

 private:
  rotary_case(const core::attributes& settings, const core::axis_sizes& sizes);
};

/// NAME_norms: pairs keep their lengths. NAME_identity: position 0 changes nothing. NAME_certificate: unit vectors turn
/// in the declared pairs. NAME_relativity: scores depend only on differences of positions. NAME_nan_at_0: at angle 0 a
/// NaN makes its partner NaN or leaves it unchanged.
std::vector<property> laws_of_rotation(const std::string& name, const std::vector<std::string>& operations);
/// Laws of the scores. NAME_shift: a shift of all tokens to later positions keeps the scores.
std::vector<property> laws_of_scores(const std::string& name, const std::vector<std::string>& operations);
/// Whether a pair that holds an infinity or a NaN may have angle 0, because its position or frequency is 0. The formula
/// makes its partner NaN, as 0 times such a number; code that skips such pairs keeps the partner. Both are right. The
/// same holds for the rest of a head whose pairs have the frequencies of all pairs ("proportional").
bool has_special_value_at_angle_0(const request& call);

}  // namespace assay::properties
