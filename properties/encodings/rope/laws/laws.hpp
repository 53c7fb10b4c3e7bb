// The laws of rotations by position, which need no truth.
#pragma once

#include "properties/laws/relations/relations.hpp"

namespace assay::properties::encodings::rope {

/// All of them.
std::vector<property> laws();
/// Those of scores, the products of two rotated vectors.
std::vector<property> score_laws();
/// Those of layouts, and the certificate of the one that is followed.
std::vector<property> layout_laws();
/// Those of frequencies, of scalings, and of the operations together.
std::vector<property> setting_laws();
/// Those of gradients.
std::vector<property> gradient_laws();

/// What pairs that do not turn make of infinities and NaN.
std::vector<property> special_value_laws();
/// Whether a pair has the angle 0 and holds an infinity or a NaN: by the formula its partner is NaN, 0 times such a
/// number, and in code that leaves such pairs alone it is itself. Both are right.
bool has_special_value_at_angle_0(const request& call);

/// Rotations over moderate positions and inputs, and their gradients too.
law_scope rotations();
law_scope rotations_and_gradients();

}  // namespace assay::properties::encodings::rope
