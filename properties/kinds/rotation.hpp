// What tests of rotations share (reference/kinds/rotation.hpp): families, sizes, laws and faults.
#pragma once

#include <string>
#include <vector>

#include "properties/harness/catalogue.hpp"
#include "properties/laws/relations/relations.hpp"
#include "reference/kinds/rotation.hpp"

namespace assay::properties {

/// Regimes of positions and of x, or of q and k: the mild ones first. Frequencies that are inputs are as published,
/// each moved a little; what divides them is from 1 to 64.
std::vector<family> rotation_families();
/// Rows, tokens, heads and widths large together, all at usual widths of heads among them.
std::vector<usual_size> rotation_sizes(const std::vector<std::string>& operations);
/// The same of scores: their product of queries, keys and widths is what a case costs.
std::vector<usual_size> score_sizes(const std::vector<std::string>& operations);

/// A call of a rotation, or of its gradient, by tokens, heads and pairs.
struct rotary_case {
  std::size_t rows, tokens, heads;
  reference::rotary_layout layout;

  explicit rotary_case(const request& call);
  explicit rotary_case(const test_case& c) : rotary_case(c.call) {}
  /// Rows, tokens and heads together: vectors of d coordinates.
  [[nodiscard]] std::size_t vectors() const { return rows * tokens * heads; }
  /// Visits (vector, pair, element of its first coordinate, that of its second one).
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
/// in the declared pairs. NAME_relativity: scores depend on differences of positions alone. NAME_nan_at_0: at angle 0 a
/// NaN reaches its partner or leaves it as it is.
std::vector<property> laws_of_rotation(const std::string& name, const std::vector<std::string>& operations);
/// Of their scores. NAME_shift: all tokens later have the same ones.
std::vector<property> laws_of_scores(const std::string& name, const std::vector<std::string>& operations);
/// Whether a pair may have the angle 0, as a position or a frequency of it is 0, and holds an infinity or a NaN: by the
/// formula its partner is NaN, 0 times such a number, and in code that leaves such pairs alone it is itself. Both are
/// right. So is the rest of a head whose pairs have the frequencies of all ("proportional").
bool has_special_value_at_angle_0(const request& call);

}  // namespace assay::properties
