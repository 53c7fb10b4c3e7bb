// The laws of rotations by position, which need no truth.
#pragma once

#include "properties/harness/property.hpp"

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

using law_check = outcome (*)(implementation&, const test_case&);
/// A law of rope/rotate and rope/rotate_by over moderate positions and inputs.
property rotation_law(const char* name, const char* summary, law_check check, std::size_t calls);
/// The same, of their gradients too.
property rotation_law_with_gradients(const char* name, const char* summary, law_check check, std::size_t calls);
/// A law of the operations with these names, over these families.
property law_of(const char* name, const char* summary, std::vector<std::string> operations, law_check check,
                std::size_t calls, std::vector<std::string> families);

}  // namespace assay::properties::encodings::rope
